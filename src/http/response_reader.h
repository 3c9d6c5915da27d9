// Reads the answers of one connection to a worker, one for each request: bytes go in; a head,
// pieces of the body, and an end or a breach come out. It does no I/O: its owner puts bytes into
// room(), and calls came() and input_ended(). What it finds does not depend on how the bytes were
// split, except for the sizes of the pieces.
//
//   state    what next() finds                                   returns   new state
//   idle     anything                                            more      idle
//   head     the head of an interim answer (1xx): it is dropped            head
//            more than Limits::interims_max of these             broken    broken
//            the head of the answer                              head      body
//            bytes that are not HTTP, or more than a limit       broken    broken
//            no whole head yet                                   more      head
//            no whole head, and the input has ended              broken    broken
//   body     a piece of the body, but not the last byte          data      body
//            a piece of the body with its last byte              data      whole
//            the end of the body (at once if there is none)      whole     whole
//            bytes that are not its framing                      broken    broken
//            none of these yet                                   more      body
//            a clean end of the input, which ends this body      whole     whole
//            any other end of the input                          broken    broken
//   whole    anything: nobody asked for it                       whole     whole
//   broken   anything                                            broken    broken
//
//   begin() leads from anywhere to head, clear() to idle. Only a body with a length has a last byte
//   that leads to whole with its piece. Then the answer is over, even before next() has said so.
//
// Memory: 16 KiB, or 64 KiB for a body once a read has filled the buffer, and up to
// Limits::head_max for a long head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/body_decoder.h"
#include "http/fault.h"
#include "http/input_buffer.h"
#include "http/message.h"
#include "http/progress.h"
#include "http/response_parser.h"

namespace turnpike::http {

class ResponseReader {
public:
    enum class State : std::uint8_t { idle, head, body, whole, broken };
    /// How the input ended.
    enum class End : std::uint8_t {
        clean,   // the worker closed its side
        broken,  // the connection failed
    };

    explicit ResponseReader(const Limits& limits);

    /// Makes ready for the answer to a request of this method, which decides whether there is a
    /// body. Drops everything that came before.
    void begin(Method asked);
    /// Drops everything, and keeps only 16 KiB of memory. Must be called when the exchange is over.
    void clear();

    /// Returns where the next bytes must be put. The views in head() and data() become invalid.
    /// Empty only if the owner did not call next() until it returned `more`.
    std::span<char> room();
    /// Must be called when this many bytes were put into room().
    void came(std::size_t size);
    /// Must be called when no more bytes will come. next() finds the bytes that came before first.
    void input_ended(End how);

    /// Takes the next step, as the table says.
    Found next();
    /// Returns the head of the answer. Must be called only between the `head` of next() and
    /// clear(). Its views are valid until the next room().
    [[nodiscard]] const ResponseHead& head() const { return parser_.head(); }
    /// Returns the piece of the body that next() has just found. Valid until the next room().
    [[nodiscard]] std::string_view data() const { return data_; }
    /// Returns what is wrong; `truncated` if the input ended too early. Must be called only in the
    /// state `broken`.
    [[nodiscard]] Fault fault() const { return fault_; }

    [[nodiscard]] State state() const { return state_; }
    /// True if a byte has come since begin().
    [[nodiscard]] bool has_begun() const { return has_begun_; }
    /// True if the whole answer has come, and allows another request on this connection. False if
    /// more bytes than the answer have come.
    [[nodiscard]] bool is_reusable() const;
    /// True if the whole answer has come, and more bytes behind it.
    [[nodiscard]] bool has_more() const { return state_ == State::whole && !input_.empty(); }

private:
    enum class Input : std::uint8_t { open, ended_cleanly, broken };

    Found read_head();
    Found read_body();
    Found end_body();
    Found fail(Fault fault);

    Limits limits_;
    State state_ = State::idle;
    Input rest_ = Input::open;  // what follows the bytes that have come
    Method asked_ = Method::get;
    bool has_begun_ = false;
    bool is_long_ = false;  // a read has filled the buffer
    Fault fault_ = Fault::none;
    std::size_t interims_ = 0;
    InputBuffer input_;
    ResponseParser parser_;
    BodyDecoder decoder_;
    std::string_view data_;
};

}  // namespace turnpike::http
