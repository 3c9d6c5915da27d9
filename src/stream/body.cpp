#include "stream/body.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/give_back.h"

namespace turnpike {

namespace {

constexpr std::size_t kept_memory_max = 16 * 1024;

}  // namespace

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

void Body::clear() {
    empty_and_keep(memory_, kept_memory_max);
    size_ = written_ = 0;
    file_ = nullptr;
}

}  // namespace turnpike
