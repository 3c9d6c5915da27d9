#include "stream/answer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/empty_and_keep.h"

namespace turnpike {

namespace {

constexpr std::size_t kept_memory_max = 16 * 1024;

/// Returns how much of the disk an answer must leave free when it writes `size` more bytes. Uploads
/// have their room, whatever answers do; on a small disk answers take at most as much as they leave.
std::uint64_t room_left_for_bodies(const Store& store, const AnswerAccount& account,
                                   std::uint64_t size) {
    return std::min(store.left_for_bodies, account.spooled().count + size);
}

}  // namespace

/// Lives until the disk has finished with it, even if the answer is gone.
struct Answer::Ring {
    Answer* owner = nullptr;
    SpoolFile file;
    std::uint64_t capacity = 0;
    std::uint64_t read = 0;     // bytes read back so far; modulo capacity it is the offset
    std::uint64_t written = 0;  // bytes written so far; used in the same way
    std::uint64_t writing = 0;  // bytes that are being written
    bool is_adopted = false;
    std::uint64_t room = 0;  // what an adopted file takes: a sparse one less than its size
    bool is_reading = false;
    bool has_failed = false;  // a write failed: write no more until the reader has moved
};

Answer::~Answer() {
    detach();
    account_.replace(share_, {});
    wakeups_.remove(*this);
}

AnswerHead& Answer::start(AnswerWriter* writer) {
    // A spooled answer was flowing, and the attempt of a flowing answer is never repeated.
    CHECK(ring_ == nullptr || ring_->is_adopted);
    detach();
    state_ = AnswerState::none;
    writer_ = writer;
    is_writer_waiting_ = is_reader_due_ = is_writer_due_ = false;
    front_.clear();
    front_read_ = 0;
    taken_ = 0;
    report_share();
    head_.fields.clear();
    head_ = {.fields = std::move(head_.fields)};
    return head_;
}

void Answer::flow() {
    state_ = AnswerState::flowing;
    wake_reader();
}

Answer::Room Answer::append(const Store& store, std::string_view bytes) {
    if (is_abandoned_) return Room::enough;
    if (state_ == AnswerState::held) {  // nobody reads it before it is complete
        front_.append(bytes);
        report_share();
        return Room::enough;
    }
    if (back_.empty() && on_disk() == 0 && waiting() + bytes.size() <= store.memory_max) {
        append_to_front(bytes);
    } else {
        back_.append(bytes);
        pump(store);
    }
    report_share();
    wake_reader();
    const bool is_behind = back_.size() >= 2 * store.step || waiting() >= store.answer_max;
    // A writer that was told to wait may still bring what was on its way. It waits until it is woken.
    is_writer_waiting_ = is_writer_waiting_ || is_behind;
    return is_writer_waiting_ ? Room::wait : Room::enough;
}

void Answer::append_to_front(std::string_view bytes) {
    if (front_read_ > front_.size() / 2) {  // limit the memory even if front_ is never read out
        front_.erase(0, front_read_);
        front_read_ = 0;
    }
    front_.append(bytes);
}

void Answer::adopt(UniqueFd file, std::uint64_t size) {
    CHECK(waiting() == 0 && ring_ == nullptr);
    if (is_abandoned_ || size == 0) return SpoolFile().adopt(std::move(file));
    ring_ = std::make_shared<Ring>();
    ring_->owner = this;
    ring_->file.adopt(std::move(file));
    ring_->room = std::min(size, ring_->file.room());
    ring_->capacity = ring_->written = size;
    ring_->is_adopted = true;
    report_share();
}

void Answer::complete() {
    writer_ = nullptr;
    if (state_ == AnswerState::lost) return;
    if (std::exchange(state_, AnswerState::complete) == AnswerState::flowing) wake_reader();
}

void Answer::break_off() {
    writer_ = nullptr;
    if (state_ == AnswerState::held) state_ = AnswerState::none;  // nobody has read any of it
    if (state_ != AnswerState::flowing) return;
    state_ = AnswerState::broken;
    wake_reader();
}

/// Tells the reader that the answer is lost. The writer may go on, but its bytes are dropped.
void Answer::lose() {
    state_ = AnswerState::lost;
    if (reader_ == nullptr) return abandon();
    wake_reader();  // the reader then abandons the answer
}

void Answer::abandon() {
    is_abandoned_ = true;
    reader_ = nullptr;
    detach();
    front_.clear();
    back_.clear();
    front_read_ = 0;
    report_share();
    if (is_writer_waiting_) wake_writer();
}

void Answer::consume(const Store& store, std::size_t size) {
    front_read_ += size;
    taken_ += size;
    CHECK(front_read_ <= front_.size());
    if (front_read_ < front_.size()) return;
    front_.clear();
    front_read_ = 0;
    if (ring_ != nullptr) ring_->has_failed = false;  // there may be room on the disk again
    if (ring_ != nullptr || !back_.empty()) pump(store);
    report_share();
    wake_writer_if_there_is_room(store);
}

bool Answer::waits_for_disk() const {
    return is_writer_waiting_ && ring_ != nullptr && ring_->has_failed;
}

void Answer::try_disk_again(const Store& store) {
    if (!waits_for_disk()) return;
    ring_->has_failed = false;
    pump(store);
    report_share();
}

void Answer::want(const Store& store) {
    if (ring_ != nullptr && ring_->is_adopted) pump(store);
}

std::uint64_t Answer::on_disk() const {
    return ring_ == nullptr ? 0 : ring_->written - ring_->read + ring_->writing;
}

std::uint64_t Answer::waiting() const {
    return front_.size() - front_read_ + back_.size() + on_disk();
}

/// Moves bytes towards the reader: from the back to the disk, and from the disk to the front. If
/// nothing is on disk, bytes go from the back directly to the front.
void Answer::pump(const Store& store) {
    if (ring_ == nullptr) {
        ring_ = std::make_shared<Ring>();
        ring_->owner = this;
        ring_->capacity = store.answer_max;
    }
    if (front().empty() && !ring_->is_reading) {
        if (ring_->written > ring_->read) {
            read_front(store);
        } else if (ring_->writing == 0 && !back_.empty()) {
            std::swap(front_, back_);
            back_.clear();
            front_read_ = 0;
        }
    }
    if (back_.size() >= store.step && ring_->writing == 0 && !ring_->has_failed) write_back(store);
}

void Answer::write_back(const Store& store) {
    const std::uint64_t capacity = ring_->capacity;
    const std::uint64_t place = ring_->written % capacity;
    const std::uint64_t free = capacity - (ring_->written - ring_->read);
    const std::uint64_t size = std::min({std::uint64_t{back_.size()}, free, capacity - place});
    if (size == 0) return;
    std::string bytes = back_.substr(0, static_cast<std::size_t>(size));
    back_.erase(0, bytes.size());
    ring_->writing = size;
    store.disk.run(
        [ring = ring_, folder = store.folder, bytes = std::move(bytes), place,
         left = room_left_for_bodies(store, account_, size)]() mutable {
            const int error =
                ring->file.write_leaving(left, folder, bytes.data(), bytes.size(), place);
            return std::pair(error, std::move(bytes));
        },
        [ring = ring_, &store](const std::pair<int, std::string>& result) {
            ring->writing = 0;
            if (ring->owner == nullptr) return;
            ring->owner->written(store, result.second, result.first);
        });
}

void Answer::written(const Store& store, const std::string& bytes, int error) {
    if (error != 0) {
        ring_->has_failed = true;
        back_.insert(0, bytes);
    } else {
        ring_->written += bytes.size();
    }
    pump(store);
    report_share();
    if (!front().empty()) wake_reader();
    wake_writer_if_there_is_room(store);
}

void Answer::read_front(const Store& store) {
    const std::uint64_t capacity = ring_->capacity;
    const std::uint64_t place = ring_->read % capacity;
    const std::uint64_t size = std::min(
        {ring_->written - ring_->read, capacity - place, static_cast<std::uint64_t>(store.step)});
    ring_->is_reading = true;
    store.disk.run(
        [ring = ring_, place, size] {
            std::string bytes(static_cast<std::size_t>(size), '\0');
            const int error = ring->file.read(bytes.data(), bytes.size(), place);
            return std::pair(error, std::move(bytes));
        },
        [ring = ring_, &store](std::pair<int, std::string> result) {
            ring->is_reading = false;
            Answer* owner = ring->owner;
            if (owner == nullptr) return;
            if (result.first != 0) return owner->lose();
            ring->read += result.second.size();
            owner->front_ = std::move(result.second);
            owner->front_read_ = 0;
            owner->drop_empty_ring();
            owner->report_share();
            owner->wake_reader();
            owner->wake_writer_if_there_is_room(store);
        });
}

void Answer::wake_reader() {
    is_reader_due_ = true;
    wakeups_.add(*this);
}

void Answer::wake_writer_if_there_is_room(const Store& store) {
    if (!is_writer_waiting_) return;
    if (back_.size() < store.step && waiting() < store.answer_max) wake_writer();
}

void Answer::wake_writer() {
    is_writer_waiting_ = false;
    is_writer_due_ = true;
    wakeups_.add(*this);
}

/// Wakes one side, and the other side in its next turn: the call may end this exchange.
void Answer::wake() {
    if (is_reader_due_ && is_writer_due_) wakeups_.add(*this);
    if (std::exchange(is_reader_due_, false)) {
        if (reader_ != nullptr) reader_->answer_moved();
    } else if (std::exchange(is_writer_due_, false)) {
        if (writer_ != nullptr) writer_->answer_has_room();
    }
}

/// Gives the room on the disk, or the worker's file, back as soon as all of it is read.
void Answer::drop_empty_ring() {
    if (on_disk() == 0 && back_.empty()) detach();
}

/// Must be called whenever the answer may take more or less room.
void Answer::report_share() {
    AnswerShare share{.memory = front_.size() + back_.size()};
    if (ring_ != nullptr && ring_->is_adopted)
        share.passed = ring_->room;
    else if (ring_ != nullptr)
        share.spooled = std::min(ring_->written + ring_->writing, ring_->capacity);
    account_.replace(share_, share);
}

void Answer::detach() {
    if (ring_ != nullptr) ring_->owner = nullptr;
    ring_ = nullptr;
}

void Answer::clear() {
    detach();
    for (std::string* memory : {&front_, &back_, &head_.fields})
        empty_and_keep(*memory, kept_memory_max);
    front_read_ = 0;
    taken_ = 0;
    report_share();
    head_ = {.fields = std::move(head_.fields)};
    state_ = AnswerState::none;
    is_abandoned_ = is_writer_waiting_ = false;
    is_reader_due_ = is_writer_due_ = false;
    reader_ = nullptr;
    writer_ = nullptr;
    wakeups_.remove(*this);
}

}  // namespace turnpike
