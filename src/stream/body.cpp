#include "stream/body.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/empty_and_keep.h"

namespace turnpike {

namespace {

constexpr std::size_t kept_memory_max = 16 * 1024;

using Made = std::pair<int, std::shared_ptr<SpoolFile>>;

/// Must run on the disk thread, because sealing looks at every page.
Made sealed(std::shared_ptr<SpoolFile> file, std::uint64_t size, std::size_t step) {
    if (file->seal() == 0) return {0, std::move(file)};
    auto copy = std::make_shared<SpoolFile>();  // a file on disk can't be sealed
    const int error = file->copy_sealed(*copy, size, step);
    return {error, std::move(copy)};
}

Made sealed(const std::string& bytes) {
    auto copy = std::make_shared<SpoolFile>();
    int error = copy->write({}, bytes.data(), bytes.size(), 0);
    if (error == 0) error = copy->seal();
    return {error, std::move(copy)};
}

}  // namespace

/// Lives until the disk thread has finished with it, even if the body is gone.
struct Body::Seal {
    std::shared_ptr<SpoolFile> file;  // nullptr until it is made
    std::vector<Sealed> waiting;      // for the file that is being made

    void made(Made result) {
        if (result.first == 0) file = std::move(result.second);
        for (Sealed& then : std::exchange(waiting, {}))
            then(file == nullptr ? -1 : file->descriptor(), result.first);
    }
};

Body::Taken Body::append(const Store& store, std::string_view bytes, Done resume) {
    size_ += bytes.size();
    memory_.append(bytes);
    if (memory_.size() <= store.memory_max) return Taken::all;
    flush(store, std::move(resume));
    return Taken::wait;
}

Body::Taken Body::complete(const Store& store, Done resume) {
    if (file_ == nullptr || memory_.empty()) return Taken::all;
    flush(store, std::move(resume));
    return Taken::wait;
}

void Body::flush(const Store& store, Done resume) {
    if (file_ == nullptr) file_ = std::make_shared<SpoolFile>();
    const std::uint64_t offset = written_;
    written_ += memory_.size();
    store.disk.run([file = file_, folder = store.folder, bytes = std::exchange(memory_, {}),
                    offset] { return file->write(folder, bytes.data(), bytes.size(), offset); },
                   std::move(resume));
}

void Body::read(const Store& store, std::uint64_t offset, std::shared_ptr<std::string> into,
                Done then) const {
    CHECK(file_ != nullptr && offset < size_);
    const std::uint64_t size = std::min<std::uint64_t>(store.step, size_ - offset);
    store.disk.run(
        [file = file_, into = std::move(into), offset, size] {
            into->resize(static_cast<std::size_t>(size));
            return file->read(into->data(), into->size(), offset);
        },
        std::move(then));
}

std::function<std::string()> Body::reader(std::size_t max) const {
    CHECK(file_ != nullptr);
    return [file = file_, size = std::min<std::uint64_t>(size_, max)] {
        std::string bytes(size, '\0');
        if (file->read(bytes.data(), bytes.size(), 0) != 0) bytes.clear();
        return bytes;
    };
}

std::function<int(const Body::TakePiece&)> Body::piece_reader(std::size_t step) const {
    CHECK(file_ == nullptr || memory_.empty());
    if (file_ == nullptr) {
        return [bytes = memory_, step](const TakePiece& take) {
            for (std::size_t at = 0; at < bytes.size(); at += step)
                take(std::string_view(bytes).substr(at, step));
            return 0;
        };
    }
    return [file = file_, size = size_, step](const TakePiece& take) {
        std::string piece;
        for (std::uint64_t at = 0; at < size; at += piece.size()) {
            piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(step, size - at)));
            if (const int error = file->read(piece.data(), piece.size(), at)) return error;
            take(piece);
        }
        return 0;
    };
}

void Body::seal(const Store& store, Sealed then) {
    CHECK(file_ == nullptr || memory_.empty());
    if (seal_ == nullptr) seal_ = std::make_shared<Seal>();
    if (seal_->file != nullptr) return then(seal_->file->descriptor(), 0);
    seal_->waiting.push_back(std::move(then));
    if (seal_->waiting.size() > 1) return;
    auto tell = [seal = seal_](Made made) { seal->made(std::move(made)); };
    if (file_ == nullptr)
        store.disk.run([bytes = memory_] { return sealed(bytes); }, std::move(tell));
    else
        store.disk.run(
            [file = file_, size = size_, step = store.step] { return sealed(file, size, step); },
            std::move(tell));
}

std::shared_ptr<const void> Body::sealed_file() const { return seal_; }

void Body::clear() {
    empty_and_keep(memory_, kept_memory_max);
    size_ = written_ = 0;
    file_ = nullptr;
    seal_ = nullptr;
}

}  // namespace turnpike
