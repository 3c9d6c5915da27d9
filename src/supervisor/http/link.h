// One HTTP connection to a worker, one request at a time. It moves bytes between the transport, the
// request that it is given, and the reader of answers (http/response_reader).
//
//   closed ─send─▶ connecting ─▶ busy ⇄ paused       the user has no room for the answer
//      ▲                          │
//      │                          ▼
//      ├── broke, not reusable ───┼──▶ idle ─send─▶ busy …
//      └── closed by either side ─┴──────┘
//
// A connection is reused only after an exchange that ended cleanly and can't have left anything behind
// (supervisor/http/reuse), if the worker read the whole request before it answered, and if the
// connection holds no bytes that we did not ask for. A worker that sends such bytes once gets a
// connection for each request from then on (`Reuse::forfeited`).
//
// A link never sends a request twice. If a reused connection ends before the first byte of an
// answer, the link breaks with `Break::stale`: most likely the worker closed the connection while it
// was idle, but it may have read the request. The engine decides whether the job is sent again. The
// same holds if the answer there is a 408 that closes the connection: the worker had waited too long
// for a request, and did not get this one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifeline.h"
#include "http/message.h"
#include "http/response_reader.h"
#include "os/alarm.h"
#include "os/socket_transport.h"
#include "stream/body.h"
#include "supervisor/http/reuse.h"

namespace turnpike {

/// Whether connections to a worker may carry more than one request.
enum class Reuse : std::uint8_t {
    allowed,
    forbidden,  // by the config. So no request ever turns stale
    forfeited,  // the worker has sent bytes that nobody asked for
};

/// Where a worker listens. Names are already resolved; the endpoint that answered last is tried
/// first.
struct Destination {
    std::vector<StreamEndpoint> endpoints;  // TCP, or a Unix socket
    std::size_t preferred = 0;
    Reuse reuse = Reuse::allowed;
};

/// Why there is no complete answer.
enum class Break : std::uint8_t {
    refused,     // nothing listens there; nothing was sent
    no_link,     // no connection could be made; nothing was sent
    shortage,    // we have no descriptor or memory for a connection; nothing was sent
    no_port,     // no port of this machine is left for a connection; nothing was sent
    stranger,    // another program listens there; nothing was sent
    stale,       // a reused connection ended before the first byte of an answer, or with a 408
    missing,     // a new connection ended before the first byte of an answer
    truncated,   // the connection ended within the answer
    malformed,   // the answer is not HTTP, or not the strict HTTP that we accept
    unreadable,  // the request's body can't be read back from our own disk
};

/// Gets the answer to one request: a head, data, then an end or a break. May close the link from any
/// of these calls, and may send the next request from answer_ended or answer_broke.
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

struct LinkDeps {
    Dialer& dialer;
    Alarms& alarms;
    const Store& store;  // for bodies on disk
};

class Link final : private TransportUser {
public:
    Link(const LinkDeps& deps, Destination& destination);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// The head of the next request: request line, fields, empty line. The user must fill it in
    /// before send().
    std::string& head() { return head_; }
    /// If may_reuse_after() is false, the head must say `Connection: close`.
    void send(const LinkRequest& request, LinkUser& user);
    /// True if the connection may carry another request after this one, if its answer allows that.
    [[nodiscard]] bool may_reuse_after(const LinkRequest& request) const;
    /// Goes on reading the answer. Does nothing unless the link is paused.
    void resume();
    /// Closes the connection at once. The user gets no more calls.
    void close();

    [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
    [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
    /// True if a part of the current request was sent, so the worker may know of it.
    [[nodiscard]] bool has_sent() const { return is_exchanging() && sent_ > 0; }

private:
    enum class State : std::uint8_t { closed, connecting, busy, paused, idle };
    /// What becomes of the connection when the exchange has ended cleanly.
    enum class Afterwards : std::uint8_t { close, keep };
    /// What the rest of the request waits for.
    enum class Sending : std::uint8_t { nothing, room, disk };
    struct Pieces {
        std::string_view first;
        std::string_view second;
    };

    void bytes_came(std::size_t size) override;
    void input_ended(InputEnd how) override;
    void can_write() override;
    void input_waits() override;

    void connect(std::size_t tried);
    void connected(Connected made, std::size_t tried, std::size_t endpoint);
    void begin();
    [[nodiscard]] bool is_clean();
    void write();
    [[nodiscard]] Pieces unsent() const;
    [[nodiscard]] std::uint64_t request_size() const;
    void read_piece();
    void read();
    void watch();
    void take_answer();
    void take_head();
    [[nodiscard]] bool is_request_taken() const;
    void finish();
    void break_off(Break why, http::Fault fault = http::Fault::none);
    void break_answer();
    void drop();
    [[nodiscard]] bool is_exchanging() const {
        return state_ == State::busy || state_ == State::paused;
    }

    const LinkDeps deps_;
    Destination& destination_;
    State state_ = State::closed;
    TransportPtr transport_;              // nullptr while closed or connecting
    std::unique_ptr<Dialer::Call> call_;  // nullptr unless connecting
    Alarm connect_alarm_;

    // the request
    LinkUser* user_ = nullptr;
    LinkRequest request_;
    Afterwards afterwards_ = Afterwards::close;
    std::string head_;
    std::uint64_t sent_ = 0;  // bytes of head and body
    bool is_reused_ = false;  // the connection has carried a request before
    Sending sending_ = Sending::nothing;
    std::shared_ptr<std::string> piece_;  // the current piece of a body on disk
    std::uint64_t piece_at_ = 0;
    std::unique_ptr<Lifeline> awaits_disk_;  // the disk may answer when the connection is dropped

    // the answer
    http::ResponseReader reader_;
    bool is_reading_ = false;   // the transport holds a part of the reader's buffer
    bool is_watching_ = false;  // the transport waits for input
};

}  // namespace turnpike
