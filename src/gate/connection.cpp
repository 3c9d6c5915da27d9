#include "gate/connection.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace turnpike {

namespace {

constexpr http::Limits limits{};

bool is_too_slow(std::uint64_t bytes, Bytes per_second, Duration window) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(window).count();
    return bytes <
           per_second.count * static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1));
}

Standing standing_of(Wait wait) {
    switch (wait) {
        case Wait::request: return Standing::idle;
        case Wait::head: return Standing::head;
        case Wait::body: return Standing::uploading;
        case Wait::closing: return Standing::closing;
        case Wait::nothing:
        case Wait::departure:
        case Wait::writing:
        case Wait::draining: break;
    }
    return Standing::busy;
}

}  // namespace

Connection::Connection(ConnectionDeps& deps, TransportPtr transport, Peer peer, Ticket ticket)
    : deps_(deps),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      client_at_address_(deps.clients.at_address(peer_.address)),
      crowd_(peer_.entrance == Entrance::command_line ? deps.command_lines : deps.crowd),
      ticket_(ticket),
      reader_(limits),
      job_(deps, peer_, client_at_address_) {
    transport_->set_user(*this);
    crowd_.add(*this);
}

Connection::~Connection() {
    deps_.timeouts.wait_for(*this, Wait::nothing, deps_.clock.now());
    crowd_.remove(*this);
    deps_.wakeups.remove(*this);
}

void Connection::start() {
    wait_for(Wait::request);
    read();
}

void Connection::wait_for(Wait kind) {
    deps_.timeouts.wait_for(*this, kind, deps_.clock.now());
    crowd_.stands(*this, standing_of(kind));
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────

void Connection::bytes_came(std::size_t size) {
    is_reading_ = false;
    reader_.came(size);
    go_on();
}

/// Handles the input as far as possible, but takes at most one request: what it orders must be done
/// before the next request is looked at. Then reads more.
void Connection::go_on() {
    switch (state_) {
        case State::head: take_head(); break;
        case State::body: take_body(); break;
        case State::draining: go_on_draining(); break;
        case State::closing: std::ignore = reader_.next(); break;  // drops it
        case State::deciding:
        case State::storing:
        case State::waiting:
        case State::answering:
        case State::blocked:
        case State::closed: break;
    }
    read();
}

/// Reads if more input may be handled or the end of the input must be noticed. The head of a request
/// is needed until the engine has decided, and the buffer must not move meanwhile.
void Connection::read() {
    const bool is_busy = state_ == State::deciding || state_ == State::storing;
    if (is_reading_ || is_busy || state_ == State::closed || client_ != Client::sends) return;
    if (const std::span<char> room = reader_.room(); !room.empty()) {
        is_reading_ = true;
        return transport_->read(room);
    }
    const bool has_job_to_lose = state_ == State::waiting || state_ == State::answering;
    if (has_job_to_lose && job_.is_live() && wait != Wait::departure) wait_for(Wait::departure);
}

void Connection::input_ended(InputEnd how) {
    is_reading_ = false;
    switch (state_) {
        case State::deciding:
        case State::body:
        case State::storing:
        case State::waiting: return give_up(Departure::left);
        case State::answering:
        case State::blocked:
        case State::draining:
            if (job_.is_live() || how == InputEnd::broken) return give_up(Departure::left);
            reply_options_.keeps_alive = false;
            client_ = Client::hears;
            return;
        case State::head:
        case State::closing:
        case State::closed: return close();
    }
}

/// Ends the connection before the client has its answer. Tells the engine, which then ends the job.
void Connection::give_up(Departure why) {
    if (job_.is_open()) {
        job_.note_loss(reason_of(why), writer_.body_bytes_taken() - Bytes{transport_->unsent()});
        job_.exchange().answer.abandon();
    }
    client_ = Client::left;
    wait_for(Wait::nothing);
    transport_->close();
    is_reading_ = false;
    if (!job_.is_live()) return close();
    deps_.deliver(ClientLeft{job_.id(), why});
}

void Connection::time_is_up() {
    const GateConfig& config = deps_.config.gate;
    switch (state_) {
        case State::head:
            if (!reader_.has_input()) return close();
            reply_options_ = {.keeps_alive = false};
            return answer_problem({Problem::too_slow, {}});
        case State::body: {
            const std::uint64_t before = std::exchange(rate_checked_, reader_.body_bytes_taken());
            if (is_too_slow(rate_checked_ - before, config.body_rate_min, config.rate_window))
                return fail_body({Problem::too_slow, {}});
            return wait_for(Wait::body);
        }
        case State::waiting:
        case State::answering: return check_if_client_left();
        case State::blocked:
            look_at_client();
            if (reads_too_slowly()) return cut_off(Departure::too_slow);
            return wait_for(Wait::writing);
        case State::draining: return go_on_draining();
        case State::closing:
            if (look_at_client() == 0 || reads_too_slowly()) return close();
            return wait_for(Wait::closing);
        case State::deciding:
        case State::storing:
        case State::closed: return close();
    }
}

/// Asks the socket whether the client left. Reading would tell, but there is no room for more
/// input.
void Connection::check_if_client_left() {
    if (transport_->has_hung_up()) return give_up(Departure::left);
    wait_for(Wait::departure);
}

void Connection::finish_up() {
    reply_options_.keeps_alive = false;
    if (state_ == State::head) close();
}

void Connection::end_with_gate() {
    const bool is_writing = state_ == State::answering || state_ == State::blocked;
    if (is_writing && job_.is_open())
        job_.note_loss(EndReason::shutting_down,
                       writer_.body_bytes_taken() - Bytes{transport_->unsent()});
    close();
}

void Connection::push_out() {
    if (state_ != State::body) return close();
    transport_->close();
    is_reading_ = false;
    client_ = Client::left;
    fail_body({Problem::too_slow, "connections ran short, and this client had most of them"});
}

/// Ends the connection. The gate drops it at the end of the turn.
void Connection::close() {
    if (std::exchange(state_, State::closed) == State::closed) return;
    CHECK(!job_.is_live());
    wait_for(Wait::nothing);
    transport_->close();
    writer_.clear();
    if (job_.is_open()) deps_.live_jobs.remove(job_.id());
    job_.release();
    deps_.wakeups.remove(*this);
    deps_.closed(*this);
}

}  // namespace turnpike
