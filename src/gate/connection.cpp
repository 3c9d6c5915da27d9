#include "gate/connection.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "gate/gate.h"
#include "http/fault.h"
#include "http/fields.h"
#include "http/write.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_size = 4 * 1024;
constexpr std::size_t read_size_max = 64 * 1024;  // for large bodies
constexpr http::Limits limits{};
constexpr std::string_view known_methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

bool is_preflight(const http::RequestHead& head) {
    return head.method == http::Method::options &&
           http::find(head.fields, "access-control-request-method") != nullptr;
}

bool is_too_slow(std::uint64_t bytes, Bytes per_second, Duration window) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(window).count();
    return bytes <
           per_second.count * static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1));
}

/// True if the peer has closed its side, even if bytes that it sent before are still unread.
bool has_hung_up(int socket) {
    pollfd peer{.fd = socket, .events = POLLRDHUP, .revents = 0};
    return ::poll(&peer, 1, 0) > 0;
}

std::string_view value_of(const http::RequestHead& head, std::string_view name) {
    const http::Field* field = http::find(head.fields, name);
    return field == nullptr ? std::string_view() : field->value;
}

}  // namespace

Connection::Connection(Gate& gate, Socket socket, Peer peer, Ticket ticket)
    : gate_(gate),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      ticket_(ticket),
      parser_(limits) {
    record_.client.assign(peer_.text);
}

Connection::~Connection() = default;

void Connection::start() {
    gate_.wait_for(*this, Wait::request);
    read();
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────

/// Handles the input as far as possible, then reads more. A nested call returns at once, because
/// the outer call goes on with the input anyway.
void Connection::go_on() {
    if (is_going_on_) return;
    is_going_on_ = true;
    bool is_moving = true;
    while (is_moving) {
        switch (state_) {
            case State::head: is_moving = take_head(); break;
            case State::body: is_moving = take_body(); break;
            case State::closing: in_start_ = in_size_; [[fallthrough]];
            case State::deciding:
            case State::storing:
            case State::waiting:
            case State::answering:
            case State::closed: is_moving = false; break;
        }
    }
    is_going_on_ = false;
    read();
}

void Connection::read() {
    const bool is_busy = state_ == State::deciding || state_ == State::storing;
    if (is_reading_ || is_busy || state_ == State::closed || has_client_left_ || !make_room())
        return;
    is_reading_ = true;
    socket_.async_read_some(asio::buffer(in_.data() + in_size_, in_.size() - in_size_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                                self->is_reading_ = false;
                                if (self->state_ == State::closed) return;
                                if (error) return self->input_ended();
                                self->in_size_ += size;
                                self->go_on();
                            });
}

/// Makes room in the input buffer. Returns false if the buffer stays full: then the client must
/// wait until some of it is handled.
bool Connection::make_room() {
    if (in_start_ == in_size_) in_start_ = in_size_ = 0;
    const bool is_large = state_ == State::body && in_size_ == 0 &&
                          (exchange_->body.size() > read_size || declared_ > read_size);
    if (in_.size() < read_size) in_.resize(read_size);
    if (is_large && in_.size() < read_size_max) in_.resize(read_size_max);
    if (!is_large && in_size_ == 0 && in_.size() > read_size) in_ = std::string(read_size, '\0');
    if (in_size_ < in_.size()) return true;
    if (in_start_ > 0) {
        std::memmove(in_.data(), in_.data() + in_start_, in_size_ - in_start_);
        in_size_ -= in_start_;
        in_start_ = 0;
        return true;
    }
    if (state_ == State::head) {  // the parser limits the size of a head
        in_.resize(2 * in_.size());
        return true;
    }
    const bool has_job_to_lose = state_ == State::waiting ||
                                 (state_ == State::answering && is_job_answer_ && !has_job_ended_);
    if (has_job_to_lose && !is_blocked_) gate_.wait_for(*this, Wait::departure);
    return false;
}

void Connection::input_ended() {
    switch (state_) {
        case State::deciding:
        case State::body:
        case State::storing:
        case State::waiting: return client_left();
        case State::answering:
            if (is_job_answer_ && !has_job_ended_) return client_left();
            reply_options_.keeps_alive = false;
            has_client_left_ = true;  // the client may still read the answer
            return;
        case State::head:
        case State::closing:
        case State::closed: return close();
    }
}

/// Tells the engine that the client left. The engine then ends the job.
void Connection::client_left() {
    has_client_left_ = true;
    gate_.wait_for(*this, Wait::nothing);
    error_code ignored;
    socket_.close(ignored);
    if (exchange_ != nullptr) exchange_->answer.set_reader(nullptr);
    if (!job_.is_none() && !has_job_ended_)
        gate_.deps_.deliver(ClientLeft{job_});
    else
        close();
}

void Connection::time_is_up() {
    const GateConfig& config = gate_.deps_.config.gate;
    switch (state_) {
        case State::head:
            if (unread().empty()) return close();
            reply_options_ = {.keeps_alive = false};
            is_request_partial_ = true;
            return answer_problem({Problem::too_slow, {}});
        case State::body:
            if (is_too_slow(received_, config.body_rate_min, config.rate_window))
                return fail_body({Problem::too_slow, {}});
            received_ = 0;
            return gate_.wait_for(*this, Wait::body);
        case State::waiting: return check_if_client_left();
        case State::answering:
            if (!is_blocked_) return check_if_client_left();
            if (is_too_slow(written_, config.answer_rate_min, config.rate_window)) return cut();
            written_ = 0;
            return gate_.wait_for(*this, Wait::writing);
        case State::deciding:
        case State::storing:
        case State::closing:
        case State::closed: return close();
    }
}

/// Asks the socket whether the client left. Reading would tell, but there is no room for more
/// input.
void Connection::check_if_client_left() {
    if (has_hung_up(socket_.native_handle())) return client_left();
    gate_.wait_for(*this, Wait::departure);
}

void Connection::finish_up() {
    reply_options_.keeps_alive = false;
    if (state_ == State::head && in_start_ == in_size_) close();
}

// ── a request ────────────────────────────────────────────────────────────────────────────────────

bool Connection::take_head() {
    if (unread().empty()) {
        if (wait != Wait::request) gate_.wait_for(*this, Wait::request);
        return false;
    }
    switch (parser_.parse(unread())) {
        case http::Progress::more:
            if (wait != Wait::head) gate_.wait_for(*this, Wait::head);
            return false;
        case http::Progress::fault:
            reply_options_ = {.keeps_alive = false};
            is_request_partial_ = true;
            answer_problem(objection_to(parser_.fault()), {}, known_methods);
            return true;
        case http::Progress::done: break;
    }
    gate_.wait_for(*this, Wait::nothing);
    in_start_ += parser_.size();
    take_request(parser_.head());
    return true;
}

void Connection::take_request(const http::RequestHead& head) {
    reply_options_ = {.keeps_alive = head.keep_alive && !gate_.is_shutting_down_,
                      .is_head = head.method == http::Method::head,
                      .is_http_1_0 = head.version == http::Version::http_1_0};
    decoder_ = http::BodyDecoder(head.framing, head.length, limits);
    is_request_partial_ = head.framing == http::Framing::chunked || head.length > unread().size();
    reply_options_.allowed_origin = gate_.access_.allowed_origin(head);
    if (is_preflight(head) && !reply_options_.allowed_origin.empty()) return answer_preflight(head);
    if (is_own(head.target)) return take_own_request(head);
    const auto caller = gate_.access_.check(head, peer_.transport, Rule::member, gate_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    record_.key.assign(caller->key == nullptr ? std::string_view() : caller->key->name);
    take_job(head);
}

/// A browser sends a preflight without credentials, so only the Origin and the Host are checked.
void Connection::answer_preflight(const http::RequestHead& head) {
    const auto caller = gate_.access_.check(head, peer_.transport, Rule::anybody, gate_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    reply_options_.date = gate_.date();
    append_preflight_reply(out_, value_of(head, "access-control-request-method"),
                           value_of(head, "access-control-request-headers"), reply_options_);
    begin_writing();
}

void Connection::take_own_request(const http::RequestHead& head) {
    const FoundRoute found = find_route(head.method, head.target);
    const Rule rule = found.route == nullptr ? Rule::member : found.route->rule;
    const auto caller = gate_.access_.check(head, peer_.transport, rule, gate_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    if (found.route == nullptr) return answer_problem({found.problem, {}}, {}, found.allow);
    const auto answer = found.route->answer({.deps = gate_.own_route_deps_,
                                             .caller = *caller,
                                             .name = found.name,
                                             .query = found.query});
    if (!answer) return answer_problem(answer.error());
    answer_own({.status = answer->status,
                .content_type = answer->content_type,
                .body = answer->body,
                .extra_fields = {}});
}

void Connection::take_job(const http::RequestHead& head) {
    const auto arrival = gate_.router_.route(head);
    if (!arrival) return answer_problem(arrival.error());
    arrival_ = *arrival;
    declared_ = head.length;
    arrived_at_ = gate_.deps_.clock.now();
    record_.pool.assign(gate_.deps_.config.pools[arrival_.pool.value].name);
    record_.arrived_unix_ns = gate_.deps_.clock.unix_ns(arrived_at_);
    record_.method.assign(http::name_of(head.method));
    record_.path.assign(arrival_.target.substr(0, arrival_.target.find('?')));
    if (declared_ > gate_.deps_.config.gate.body_max.count) {
        const Objection objection{Problem::body_too_large,
                                  "Content-Length is " + std::to_string(declared_)};
        log_refusal(objection, EndReason::body_failed);
        return answer_problem(objection);
    }
    state_ = State::deciding;
    gate_.deps_.deliver(JobArrived{.ticket = ticket_,
                                   .pool = arrival_.pool,
                                   .declared = Bytes{declared_},
                                   .priority = arrival_.priority,
                                   .timeout = arrival_.timeout,
                                   .lane_wanted = arrival_.lane_wanted,
                                   .is_aside = arrival_.is_aside});
}

void Connection::admitted(JobId job) {
    const http::RequestHead& head = parser_.head();
    job_ = job;
    has_job_ended_ = false;
    queued_at_.reset();
    record_.job = job;
    record_.id = gate_.names_.name_of(job);
    gate_.claim(job, *this);
    exchange_ = gate_.deps_.exchanges.open(job);
    exchange_->answer.set_reader(this);
    exchange_->name.assign(record_.id.view());
    exchange_->is_aside = arrival_.is_aside;
    exchange_->method.assign(http::name_of(head.method));
    exchange_->target.assign(arrival_.target);
    append_forwarded_fields(
        exchange_->fields,
        {.head = head, .keys = gate_.keys(), .client = peer_.address, .job = record_.id.view()});
    if (arrival_.reads_model) model_ = std::make_unique<ModelField>();
    state_ = State::body;
    received_ = 0;
    if (head.expects_continue && unread().empty()) {
        error_code ignored;  // the next read notices if the client is gone
        socket_.write_some(asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                           ignored);
    }
    go_on();
}

void Connection::refused(const RefuseJob& refusal) {
    const Objection objection = gate_.objection_to(arrival_.pool, refusal.reason);
    log_refusal(objection, refusal.reason);
    answer_problem(objection, refusal.retry_after);
    go_on();
}

/// Logs a request that never became a job. Must be called before the answer is written: writing it
/// may start the next request, which uses the same record.
void Connection::log_refusal(const Objection& objection, EndReason reason) {
    record_problem(objection);
    record_.id = {};
    record_.upload = Duration::zero();
    record_.outcome = Outcome::refused;
    record_.reason = reason;
    record_.queue = record_.run = Duration::zero();
    gate_.log_end(record_);
    record_.failure = {};
}

}  // namespace turnpike
