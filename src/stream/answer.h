// The answer to a job on its way out, from the supervisor (which writes) to the gate (which reads).
//
// Up to memory_max bytes wait in memory, then up to answer_max in a spool file used as a ring, so
// that a slow client frees the lane; beyond that the writer is told to wait. If the disk refuses,
// the writer waits earlier: nothing is lost.
//
//   writer ─▶ back (memory) ─▶ ring (disk) ─▶ front (memory) ─▶ reader
//
// As long as nothing is on disk, the writer appends to the front directly. A whole body that a
// native worker passes in a file takes the place of the ring's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stream/spool.h"

namespace turnpike {

/// Hears that a flowing answer moved: it began, there is more to read, it is over.
class AnswerReader {
public:
    virtual void answer_moved() = 0;

protected:
    ~AnswerReader() = default;
};

/// Hears that there is room again after Answer::append said `wait`.
class AnswerWriter {
public:
    virtual void answer_has_room() = 0;

protected:
    ~AnswerWriter() = default;
};

struct AnswerHead {
    int status = 0;
    std::string fields;  // "Name: value\r\n" …, end-to-end only
    bool has_length = false;
    std::uint64_t length = 0;  // with has_length
    bool has_body = true;      // false: HEAD, 204, 304
    bool has_date = false;
    bool allows_origins = false;  // the worker does CORS itself
};

/// none ─▶ held ─────▶ complete      short: read when complete, so that the attempt can be repeated
///      └▶ flowing ──┤               long or of unknown length: read as it is made
///                   ├▶ broken       what came is not all
///                   └▶ lost         our own disk does not give back what it took
enum class AnswerState : std::uint8_t { none, held, flowing, complete, broken, lost };

class Answer {
public:
    enum class Room : std::uint8_t { enough, wait };

    Answer() = default;
    ~Answer() { detach(); }
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

    // ── the writer's side ──
    /// Forgets an earlier attempt's answer, and lets the writer fill in the head.
    AnswerHead& start(AnswerWriter* writer);
    void hold() { state_ = AnswerState::held; }
    void flow();
    Room append(const Store& store, std::string_view bytes);
    /// The whole body is in this file (a sealed memfd, `size` bytes from offset 0), and nothing was
    /// appended. Read as the reader takes it, also when the writer is long gone. Between hold() or
    /// flow() and complete(), which follows.
    void adopt(UniqueFd file, std::uint64_t size);
    void complete();
    void break_off();
    /// The writer goes, and wants to hear of nothing.
    void forget_writer() { writer_ = nullptr; }

    // ── the reader's side ──
    void set_reader(AnswerReader* reader) { reader_ = reader; }
    /// Nobody reads any more: all that is there and all that comes is dropped.
    void abandon();
    [[nodiscard]] AnswerState state() const { return state_; }
    [[nodiscard]] const AnswerHead& head() const { return head_; }
    /// What can be read now; may be empty while more is on its way.
    [[nodiscard]] std::string_view front() const {
        return std::string_view(front_).substr(front_read_);
    }
    void consume(const Store& store, std::size_t size);
    /// The reader wants more than there is in front: looks for it in the file of an adopted body.
    void want(const Store& store);
    /// All that came so far was read.
    [[nodiscard]] bool is_read_out() const { return waiting() == 0; }
    /// Complete, and all of it was read.
    [[nodiscard]] bool is_drained() const {
        return state_ == AnswerState::complete && is_read_out();
    }

    /// As new. Keeps a little memory.
    void clear();

private:
    struct Ring;

    [[nodiscard]] std::uint64_t on_disk() const;
    [[nodiscard]] std::uint64_t waiting() const;
    void append_to_front(std::string_view bytes);
    void pump(const Store& store);
    void write_back(const Store& store);
    void read_front(const Store& store);
    void written(const Store& store, const std::string& bytes, int error);
    void lose();
    void tell_reader();
    void tell_writer(const Store& store);
    void detach();

    AnswerHead head_;
    AnswerState state_ = AnswerState::none;
    bool is_abandoned_ = false;
    bool is_writer_waiting_ = false;
    AnswerReader* reader_ = nullptr;
    AnswerWriter* writer_ = nullptr;
    std::string front_;
    std::size_t front_read_ = 0;
    std::string back_;
    std::shared_ptr<Ring> ring_;  // none: nothing ever was on disk
};

}  // namespace turnpike
