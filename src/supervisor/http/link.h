// One HTTP connection to a worker, one request at a time.
//
//   closed ─send─▶ connecting ─▶ busy ─answer ended─▶ idle ─send─▶ busy …
//      ▲                          │                     │
//      └──────────────────────────┴── broke, or not reusable, or closed by either side
//
// A connection is not reused after an exchange that did not end cleanly, nor if it holds bytes that
// we did not ask for, nor if the owner forbids it (`Reuse::forbidden`, `needs_new_connection`).
//
// A link never sends a request twice. If a reused connection ends before the first byte of an
// answer, the link breaks with `Break::stale`: most likely the worker closed the connection while it
// was idle, but it may have read the request. The engine decides whether the job is sent again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/body_decoder.h"
#include "http/message.h"
#include "http/response_parser.h"
#include "stream/body.h"

namespace turnpike {

/// Where a worker listens. Names are already resolved; the endpoint that answered last is tried
/// first.
struct Destination {
    std::vector<boost::asio::generic::stream_protocol::endpoint>
        endpoints;  // TCP, or a Unix socket
    std::size_t preferred = 0;
};

/// Why there is no complete answer.
enum class Break : std::uint8_t {
    refused,     // nothing listens there; nothing was sent
    no_link,     // no connection could be made; nothing was sent
    stale,       // a reused connection ended before the first byte of an answer
    missing,     // a new connection ended before the first byte of an answer
    truncated,   // the connection ended within the answer
    malformed,   // the answer is not HTTP, or not the strict HTTP that we accept
    unreadable,  // the request's body can't be read back from our own disk
};

/// Gets the answer to one request: a head, data, then an end or a break. May send the next request
/// from answer_ended or answer_broke.
class LinkUser {
public:
    enum class Room : std::uint8_t { enough, wait };

    virtual void answer_head(const http::ResponseHead& head) = 0;
    /// If this returns `wait`, nothing more is read until Link::resume().
    virtual Room answer_data(std::string_view bytes) = 0;
    virtual void answer_ended() = 0;
    virtual void answer_broke(Break why, http::Fault fault) = 0;

protected:
    ~LinkUser() = default;
};

struct LinkRequest {
    http::Method method = http::Method::get;
    const Body* body = nullptr;         // must outlive the request; nullptr if there is no body
    bool needs_new_connection = false;  // so it can't turn stale
};

class Link : public std::enable_shared_from_this<Link> {
public:
    /// With `forbidden` each request gets a connection of its own, so no request ever turns stale.
    enum class Reuse : std::uint8_t { allowed, forbidden };

    Link(boost::asio::io_context& loop, Destination& destination, const Store& store,
         Reuse reuse = Reuse::allowed);
    ~Link();

    /// The head of the next request: request line, fields, empty line. The user must fill it in
    /// before send().
    std::string& head() { return head_; }
    void send(const LinkRequest& request, LinkUser& user);
    void resume();
    /// Closes the connection at once. The user gets no more calls.
    void close();

    [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
    [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
    /// True if a part of the current request was sent, so the worker may know of it.
    [[nodiscard]] bool has_sent() const { return state_ == State::busy && sent_ > 0; }

private:
    enum class State : std::uint8_t { closed, connecting, busy, idle };

    bool is_quiet();
    void connect(std::size_t tried);
    void connected(std::size_t endpoint);
    void begin();
    void write();
    void write_memory();
    void write_piece();
    bool flush(std::string_view first, std::string_view second);
    void wait_to_write();
    void read();
    void watch();
    void take(std::size_t size);
    void parse();
    bool parse_head();
    bool parse_body();
    void input_ended(bool is_clean);
    void finish();
    void break_off(Break why, http::Fault fault = http::Fault::none);
    void drop_socket();

    boost::asio::generic::stream_protocol::socket socket_;
    boost::asio::steady_timer connect_timer_;
    Destination& destination_;
    const Store& store_;
    const Reuse reuse_;
    State state_ = State::closed;
    std::uint64_t socket_number_ = 0;  // lets us ignore callbacks of an old socket

    // the request
    LinkUser* user_ = nullptr;
    LinkRequest request_;
    std::string head_;
    std::uint64_t sent_ = 0;              // bytes of head and body
    bool is_reused_ = false;              // the connection has carried a request before
    bool is_writing_ = false;             // waiting for room in the socket, or for the disk
    std::shared_ptr<std::string> piece_;  // the current piece of a body on disk
    std::uint64_t piece_at_ = 0;

    // the answer
    http::ResponseParser parser_;
    http::BodyDecoder decoder_;
    std::string in_;
    std::size_t in_size_ = 0;   // bytes in in_
    std::size_t in_taken_ = 0;  // how many of these are parsed
    bool is_reading_ = false;
    bool is_watching_ = false;
    bool is_paused_ = false;
    bool is_telling_ = false;   // answer_data() is running
    bool was_resumed_ = false;  // resume() was called meanwhile
    bool has_head_ = false;
    bool is_reusable_ = false;
    std::uint32_t interims_ = 0;
};

}  // namespace turnpike
