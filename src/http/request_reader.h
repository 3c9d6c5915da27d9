// Reads the requests of one connection, one after another: bytes go in; heads, pieces of bodies,
// ends and breaches come out. It does no I/O: its owner puts bytes into room() and calls came().
// What it finds does not depend on how the bytes were split, except for the sizes of the pieces.
//
//   state       what next() finds                                 returns   new state
//   head        no whole head yet                                 more      head
//               a whole head                                      head      body
//               bytes that are not HTTP, or more than a limit     broken    broken
//   body        a piece of the body, but not the last byte        data      body
//               a piece of the body with its last byte            data      whole
//               the end of the body (at once if there is none)    whole     whole
//               none of these yet                                 more      body
//               bytes that are not its framing                    broken    broken
//   whole       anything: it belongs to the next request          whole     whole
//   broken      anything                                          broken    broken
//   discarding  anything: it is dropped                           more      discarding
//
//   begin_next() leads from whole to head, skip_body() from body to whole if the whole body has
//   come, discard_rest() from anywhere to discarding. In chunked framing the last piece never leads
//   to whole, because the end of the body is a chunk of its own.
//
// Memory: 4 KiB while the connection idles or its bodies are short, 64 KiB while a long body comes,
// and up to Limits::head_max for a long head. Bytes that come before they are wanted (the next
// request, or a body that nobody asked for) fill the buffer; then room() is empty, and the owner
// must not read.
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
#include "http/request_parser.h"

namespace turnpike::http {

class RequestReader {
public:
    enum class State : std::uint8_t { head, body, whole, broken, discarding };

    explicit RequestReader(const Limits& limits);

    /// Returns where the next bytes must be put. Empty if the buffer is full. The views in head()
    /// and data() become invalid. Should be called when next() has returned `more`, or while the
    /// owner wants nothing of the request but watches for the end of the connection.
    std::span<char> room();
    /// Must be called when this many bytes were put into room().
    void came(std::size_t size) { input_.came(size); }

    /// Takes the next step, as the table says.
    Found next();
    /// Returns the head of the request. Must be called only between the `head` of next() and
    /// begin_next(). Its views are valid until the next room().
    [[nodiscard]] const RequestHead& head() const { return parser_.head(); }
    /// Returns the piece of the body that next() has just found. Valid until the next room().
    [[nodiscard]] std::string_view data() const { return data_; }
    /// Returns what is wrong. Must be called only in the state `broken`.
    [[nodiscard]] Fault fault() const { return fault_; }

    /// Takes what has come of an unwanted body. Returns true if that was all of it, so that the
    /// state is `whole`.
    bool skip_body();
    /// Makes ready for the next request. Must be called in the state `whole`.
    void begin_next();
    /// Drops everything that has come and will come.
    void discard_rest();

    [[nodiscard]] State state() const { return state_; }
    /// True if bytes have come that were not taken yet.
    [[nodiscard]] bool has_input() const { return !input_.empty(); }
    /// True if all bytes of the request are here, taken or not. A chunked body counts only once
    /// its end was taken, because nobody knows its length before.
    [[nodiscard]] bool has_whole_request() const;
    /// Returns how many bytes of the body, with its framing, were taken since its head was found.
    [[nodiscard]] std::uint64_t body_bytes_taken() const { return body_taken_; }

private:
    Found read_head();
    Found read_body();
    Found fail(Fault fault);
    [[nodiscard]] bool is_long_body_wanted() const;

    Limits limits_;
    State state_ = State::head;
    bool is_body_wanted_ = false;  // next() was called for this body
    Fault fault_ = Fault::none;
    InputBuffer input_;
    RequestParser parser_;
    BodyDecoder decoder_;
    std::string_view data_;
    std::uint64_t body_taken_ = 0;
};

}  // namespace turnpike::http
