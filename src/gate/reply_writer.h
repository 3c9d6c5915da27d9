// Writes the answer to one request after another: our own reply or a worker's answer goes in, bytes
// come out. It does no I/O: its owner writes as much of pieces() as the socket takes, and calls
// wrote(). The bytes do not depend on how much is taken at once.
//
//   state     what next() finds                                  returns    new state
//   idle      bytes in the buffer (100 Continue)                 bytes      idle
//             none                                               later      idle
//   own       bytes of our own reply                             bytes      own
//             none are left                                      finished   own
//   flowing   our own disk has lost the answer                   broken     flowing
//             bytes in the buffer or of the answer               bytes      flowing
//             none now; the answer has not ended                 later      flowing
//             none; the answer is complete, in chunks            bytes      drained
//             none; the answer is complete, not in chunks        finished   drained
//   drained   the bytes of the last chunk                        bytes      drained
//             none are left                                      finished   drained
//   breaking  our own disk has lost the answer                   broken     breaking
//             bytes in the buffer or of the answer               bytes      breaking
//             none now; the disk is reading more                 later      breaking
//             none: the error event                              bytes      telling
//   telling   bytes of the error event                           bytes      telling
//             none are left                                      broken     telling
//
//   The begin functions lead from idle to own or flowing, break_off() from flowing to breaking, and
//   clear() from anywhere to idle.
//
// Chunks are copied into the buffer; an answer in another framing is written from where it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "gate/problem.h"
#include "gate/reply.h"
#include "stream/answer.h"

namespace turnpike {

class ReplyWriter {
public:
    enum class State : std::uint8_t { idle, own, flowing, drained, breaking, telling };
    enum class Next : std::uint8_t {
        bytes,     // write pieces()
        later,     // everything so far is written; ask again when the answer has moved
        finished,  // the whole answer is written
        broken,    // the client must see that the answer is incomplete: close the connection
    };

    /// Tells the client that waits for it to send its body. Must be called in the state `idle`.
    void say_continue();

    // ── begin an answer; must be called in the state `idle` ──
    void begin_own(const OwnReply& reply, const ReplyOptions& options);
    void begin_problem(const ProblemReply& reply, const ReplyOptions& options);
    void begin_preflight(std::string_view method, std::string_view fields,
                         const ReplyOptions& options);
    /// Begins a worker's answer, whose head must be there. The writer uses the answer and the store
    /// until clear().
    void begin_answer(Answer& answer, const Store& store, const ReplyOptions& options,
                      const JobMarks& marks);

    /// True if the client of an answer that breaks can be told so within the answer: it is a stream
    /// of events in a framing with an open end.
    [[nodiscard]] bool can_tell_of_break() const;
    /// Ends a worker's answer that will never be complete: with what has come of it if the worker
    /// broke it off, otherwise without what was not written yet. An event with `text` follows. Must
    /// be called only if can_tell_of_break().
    void break_off(const ProblemText& text);

    /// Takes the next step, as the table says.
    Next next();
    struct Pieces {
        std::string_view first;
        std::string_view second;
    };
    /// Returns the bytes to write, at least one after next() returned `bytes`. Valid until the next
    /// call that is not const, or until the answer moves.
    [[nodiscard]] Pieces pieces() const;
    /// Must be called when this many bytes of pieces() were written.
    void wrote(std::size_t size);

    /// Makes ready for the answer to the next request. Drops what was not written. Keeps a little
    /// memory.
    void clear();

    [[nodiscard]] State state() const { return state_; }
    /// Returns how many bytes of a worker's body were taken so far, without their framing.
    [[nodiscard]] Bytes body_bytes_taken() const { return body_taken_; }

private:
    Next next_of_flowing();
    Next next_of_breaking();
    bool add_chunk();
    void take_from_answer(std::size_t size);
    [[nodiscard]] bool has_bytes() const;
    [[nodiscard]] bool is_direct() const;

    State state_ = State::idle;
    ReplyFraming framing_ = ReplyFraming::none;
    bool is_between_events_ = true;  // no event was begun, or the last one is complete
    std::string out_;
    std::size_t out_sent_ = 0;
    Answer* answer_ = nullptr;  // nullptr unless a worker's answer is written
    const Store* store_ = nullptr;
    std::string error_event_;  // empty unless breaking
    Bytes body_taken_;
};

}  // namespace turnpike
