// The answer to a job on its way from the supervisor, which writes it, to the gate, which reads it.
//
// Up to memory_max bytes wait in memory, and up to answer_max in a spool file that is used as a
// ring, so that a slow client does not hold the lane. Beyond that the writer must wait. If the disk
// fails to write, the writer must wait earlier, but no byte is lost.
//
//   writer ─▶ back (memory) ─▶ ring (disk) ─▶ front (memory) ─▶ reader
//
// While nothing is on disk, the writer appends to the front directly. If a native worker passes the
// whole body in a file, that file takes the place of the ring.
//
// The two sides never call each other: each is woken by the driver (base/wakeups.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/wakeups.h"
#include "stream/answer_account.h"
#include "stream/spool.h"

namespace turnpike {

/// Is told when a flowing answer can be read, when there is more to read, and when it has ended.
class AnswerReader {
public:
    virtual void answer_moved() = 0;

protected:
    ~AnswerReader() = default;
};

/// Is told when there is room again after Answer::append returned `wait`.
class AnswerWriter {
public:
    virtual void answer_has_room() = 0;

protected:
    ~AnswerWriter() = default;
};

struct AnswerHead {
    int status = 0;
    std::string fields;  // lines of "Name: value\r\n", end-to-end fields only
    bool has_length = false;
    std::uint64_t length = 0;  // valid if has_length
    bool has_body = true;      // false for HEAD, 204 and 304
    bool has_date = false;
    bool allows_origins = false;  // the worker does CORS itself
};

/// none ─▶ held ─────▶ complete      short; read when complete, so that the attempt can be repeated
///      └▶ flowing ──┤               long or of unknown length; read while it is written
///                   ├▶ broken       the worker did not send all of it
///                   └▶ lost         our own disk failed to read it back
enum class AnswerState : std::uint8_t { none, held, flowing, complete, broken, lost };

class Answer final : public Sleeper {
public:
    enum class Room : std::uint8_t { enough, wait };

    /// Both must outlive the answer.
    Answer(Wakeups& wakeups, AnswerAccount& account) : wakeups_(wakeups), account_(account) {}
    ~Answer();

    // ── the writer's side ──
    /// Drops the answer of an earlier attempt, and returns the head for the writer to fill in.
    AnswerHead& start(AnswerWriter* writer);
    void hold() { state_ = AnswerState::held; }
    void flow();
    Room append(const Store& store, std::string_view bytes);
    /// Takes a file that has the whole body: a sealed memfd with `size` bytes from offset 0. The
    /// file is read piece by piece as the reader takes bytes, even if the writer is long gone. Must
    /// be called between hold() or flow() and complete(), with nothing appended.
    void adopt(UniqueFd file, std::uint64_t size);
    void complete();
    /// Ends an answer that will not be complete. Of a held answer nothing remains.
    void break_off();
    /// Must be called if the writer goes away before the end. It gets no more calls.
    void forget_writer() { writer_ = nullptr; }

    // ── the reader's side ──
    void set_reader(AnswerReader* reader) { reader_ = reader; }
    /// Drops the answer and everything that the writer still appends, because nobody reads it.
    void abandon();
    [[nodiscard]] AnswerState state() const { return state_; }
    /// True if it began to flow and is not complete, so its reader may get a part of it.
    [[nodiscard]] bool is_partial() const {
        return state_ == AnswerState::flowing || state_ == AnswerState::broken;
    }
    [[nodiscard]] const AnswerHead& head() const { return head_; }
    /// Returns the bytes that can be read now. May be empty while more are on their way.
    [[nodiscard]] std::string_view front() const {
        return std::string_view(front_).substr(front_read_);
    }
    void consume(const Store& store, std::size_t size);
    /// Asks for more bytes than front() has. Only an adopted body needs this: it starts reading the
    /// file.
    void want(const Store& store);
    /// True if everything that has come so far was read.
    [[nodiscard]] bool is_read_out() const { return waiting() == 0; }
    /// True if the answer is complete and was read to its end.
    [[nodiscard]] bool is_drained() const {
        return state_ == AnswerState::complete && is_read_out();
    }

    /// Returns how much room it takes.
    [[nodiscard]] const AnswerShare& share() const { return share_; }
    /// Returns how many bytes its reader took.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    /// True if the writer waits for the reader.
    [[nodiscard]] bool holds_writer() const { return is_writer_waiting_; }
    /// True if the disk refused a part of it, so that the writer has to wait for the reader.
    [[nodiscard]] bool waits_for_disk() const;
    /// Writes again what the disk refused, because it may have room now.
    void try_disk_again(const Store& store);

    /// Wakes the reader or the writer. Called by Wakeups.
    void wake() override;

    /// Resets the answer for the next job. Keeps a little memory.
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
    void wake_reader();
    void wake_writer_if_there_is_room(const Store& store);
    void wake_writer();
    void drop_empty_ring();
    void detach();
    void report_share();

    AnswerHead head_;
    AnswerState state_ = AnswerState::none;
    bool is_abandoned_ = false;
    bool is_writer_waiting_ = false;
    AnswerReader* reader_ = nullptr;
    AnswerWriter* writer_ = nullptr;
    Wakeups& wakeups_;
    AnswerAccount& account_;
    AnswerShare share_;           // as the account knows it
    bool is_reader_due_ = false;  // to be woken
    bool is_writer_due_ = false;
    std::string front_;
    std::size_t front_read_ = 0;
    std::uint64_t taken_ = 0;
    std::string back_;
    std::shared_ptr<Ring> ring_;  // nullptr while nothing is on disk
};

}  // namespace turnpike
