#include "supervisor/http/link.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace turnpike {

namespace {

constexpr std::chrono::seconds connect_timeout{3};
constexpr http::Limits limits{};
constexpr std::uint64_t long_body = std::uint64_t{64} * 1024;

Break break_for(ConnectFailure why) {
    switch (why) {
        case ConnectFailure::refused: return Break::refused;
        case ConnectFailure::failed: return Break::no_link;
        case ConnectFailure::stranger: return Break::stranger;
        case ConnectFailure::shortage: return Break::shortage;
        case ConnectFailure::no_port: return Break::no_port;
    }
    return Break::no_link;
}

/// True if the worker was not reached because of what we lack. No other endpoint would do then.
bool is_our_shortage(Break why) { return why == Break::shortage || why == Break::no_port; }

Asked asked_by(const LinkRequest& request) {
    return {.method = request.method,
            .body_size = request.body == nullptr ? 0 : request.body->size()};
}

}  // namespace

Link::Link(const LinkDeps& deps, Destination& destination)
    : deps_(deps), destination_(destination), connect_alarm_(deps.alarms), reader_(limits) {}

Link::~Link() { close(); }

bool Link::may_reuse_after(const LinkRequest& request) const {
    return destination_.reuse == Reuse::allowed && may_leave_nothing(asked_by(request));
}

void Link::send(const LinkRequest& request, LinkUser& user) {
    CHECK(user_ == nullptr && (state_ == State::closed || state_ == State::idle));
    user_ = &user;
    request_ = request;
    sent_ = 0;
    afterwards_ = may_reuse_after(request) ? Afterwards::keep : Afterwards::close;
    if (state_ == State::idle && (request.needs_new_connection || !is_clean())) drop();
    is_reused_ = state_ == State::idle;
    is_reused_ ? begin() : connect(0);
}

void Link::resume() {
    if (state_ != State::paused) return;
    state_ = State::busy;
    take_answer();
}

void Link::close() {
    user_ = nullptr;
    drop();
}

// ── the connection ───────────────────────────────────────────────────────────────────────────────

/// Tries the next endpoint. `tried` is how many endpoints have failed already.
void Link::connect(std::size_t tried) {
    state_ = State::connecting;
    const std::size_t all = destination_.endpoints.size();
    if (tried == all) return break_off(Break::no_link);
    const std::size_t endpoint = (destination_.preferred + tried) % all;
    connect_alarm_.set(connect_timeout, [this, tried] { connect(tried + 1); });
    call_ = deps_.dialer.dial(
        destination_.endpoints[endpoint],
        [this, tried, endpoint](Connected made) { connected(std::move(made), tried, endpoint); });
}

void Link::connected(Connected made, std::size_t tried, std::size_t endpoint) {
    call_ = nullptr;
    connect_alarm_.cancel();
    if (!made) {
        const Break why = break_for(made.error());
        const bool is_last = tried + 1 == destination_.endpoints.size();
        return is_last || is_our_shortage(why) ? break_off(why) : connect(tried + 1);
    }
    destination_.preferred = endpoint;
    transport_ = *std::move(made);
    transport_->set_user(*this);
    begin();
}

/// True if an idle connection may carry a request. Bytes that the worker sent unasked must not be
/// taken for the answer to it; the loop may not have read them yet.
bool Link::is_clean() {
    const Unread unread = transport_->unread();
    if (unread == Unread::bytes) destination_.reuse = Reuse::forfeited;
    return unread == Unread::nothing && destination_.reuse == Reuse::allowed;
}

void Link::begin() {
    state_ = State::busy;
    piece_at_ = 0;
    reader_.begin(request_.method);
    write();
    read();
}

void Link::drop() {
    state_ = State::closed;
    sending_ = Sending::nothing;
    is_reading_ = is_watching_ = false;
    connect_alarm_.cancel();
    call_ = nullptr;
    transport_ = nullptr;
    piece_ = nullptr;
    awaits_disk_ = nullptr;
    reader_.clear();
}

// ── the request ──────────────────────────────────────────────────────────────────────────────────

/// Writes as much of the request as the transport takes now. If the worker does not read any more,
/// its answer, or the end of the connection, decides.
void Link::write() {
    while (sent_ < request_size()) {
        const auto [first, second] = unsent();
        if (first.empty() && second.empty()) return read_piece();
        const auto size = transport_->write(first, second);
        if (size) {
            sent_ += *size;
            continue;
        }
        if (size.error() == Unwritten::full) {
            sending_ = Sending::room;
            transport_->await_writable();
        }
        return;
    }
    piece_ = nullptr;
}

void Link::can_write() {
    if (std::exchange(sending_, Sending::nothing) == Sending::room) write();
}

std::uint64_t Link::request_size() const {
    return head_.size() + (request_.body == nullptr ? 0 : request_.body->size());
}

/// Returns what can be written now: the rest of the head and of a body in memory, or the rest of the
/// current piece of a body on disk.
Link::Pieces Link::unsent() const {
    const bool has_bytes = request_.body != nullptr && request_.body->is_in_memory();
    const std::string_view body = has_bytes ? request_.body->bytes() : std::string_view();
    if (sent_ < head_.size()) return {std::string_view(head_).substr(sent_), body};
    const std::uint64_t offset = sent_ - head_.size();
    if (has_bytes) return {body.substr(offset), {}};
    if (piece_ == nullptr || offset >= piece_at_ + piece_->size()) return {};
    return {std::string_view(*piece_).substr(offset - piece_at_), {}};
}

void Link::read_piece() {
    sending_ = Sending::disk;
    const std::uint64_t offset = sent_ - head_.size();
    if (piece_ == nullptr) piece_ = std::make_shared<std::string>();
    awaits_disk_ = std::make_unique<Lifeline>();
    request_.body->read(deps_.store, offset, piece_, awaits_disk_->bind([this, offset](int error) {
        sending_ = Sending::nothing;
        if (error != 0) return break_off(Break::unreadable);
        piece_at_ = offset;
        write();
    }));
}

// ── the answer ───────────────────────────────────────────────────────────────────────────────────

void Link::read() {
    if (state_ != State::busy || is_reading_) return;
    is_reading_ = true;
    transport_->read(reader_.room());
}

void Link::bytes_came(std::size_t size) {
    is_reading_ = false;
    reader_.came(size);
    take_answer();
}

void Link::input_ended(InputEnd how) {
    is_reading_ = false;
    reader_.input_ended(how == InputEnd::clean ? http::ResponseReader::End::clean
                                               : http::ResponseReader::End::broken);
    take_answer();
}

void Link::take_answer() {
    while (state_ == State::busy) {
        switch (reader_.next()) {
            case http::Found::more: return read();
            case http::Found::head: take_head(); break;
            case http::Found::data: {
                const bool must_wait = user_->answer_data(reader_.data()) == LinkUser::Room::wait;
                // If this was the last byte, the answer ends without any room.
                const bool goes_on = reader_.state() == http::ResponseReader::State::body;
                if (must_wait && goes_on && state_ == State::busy) state_ = State::paused;
                break;
            }
            case http::Found::whole: return finish();
            case http::Found::broken: return break_answer();
        }
    }
}

void Link::take_head() {
    const http::ResponseHead& head = reader_.head();
    if (is_reused_ && head.status == 408 && !head.keep_alive) return break_off(Break::stale);
    if (!is_request_taken() || !leaves_nothing(asked_by(request_), head))
        afterwards_ = Afterwards::close;
    user_->answer_head(head);
}

/// False if the worker answers before it can have read the whole request. Then it may never read the
/// rest, or take it for the next request. (Its system may hold a short body that it does not read.)
bool Link::is_request_taken() const {
    const bool is_long = asked_by(request_).body_size > long_body;
    return sent_ == request_size() && (!is_long || transport_->unsent() == 0);
}

void Link::finish() {
    if (reader_.has_more()) destination_.reuse = Reuse::forfeited;
    const bool is_reusable = afterwards_ == Afterwards::keep && reader_.is_reusable() &&
                             destination_.reuse == Reuse::allowed;
    LinkUser* const user = std::exchange(user_, nullptr);
    if (is_reusable) {
        state_ = State::idle;
        reader_.clear();
        watch();
    } else {
        drop();
    }
    user->answer_ended();
}

/// Waits while the connection is idle. Nothing is read between two requests, because is_quiet()
/// could not see bytes that were already read.
void Link::watch() {
    if (!std::exchange(is_watching_, true)) transport_->await_input();
}

/// If bytes come while the connection is idle, or the worker closes it, it is dropped.
void Link::input_waits() {
    is_watching_ = false;
    if (state_ != State::idle) return;  // the bytes are an answer
    is_clean() ? watch() : drop();
}

void Link::break_answer() {
    const http::Fault fault = reader_.fault();
    if (fault != http::Fault::truncated) return break_off(Break::malformed, fault);
    if (reader_.has_begun()) return break_off(Break::truncated);
    break_off(is_reused_ ? Break::stale : Break::missing);
}

void Link::break_off(Break why, http::Fault fault) {
    LinkUser* const user = std::exchange(user_, nullptr);
    drop();
    user->answer_broke(why, fault);
}

}  // namespace turnpike
