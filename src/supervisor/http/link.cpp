#include "supervisor/http/link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/check.h"
#include "base/empty_and_keep.h"
#include "os/send.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_size = 16 * 1024;
constexpr std::size_t read_size_max = 64 * 1024;  // for long answers
constexpr std::uint32_t interims_max = 16;        // how many 1xx answers may come before the answer
constexpr std::chrono::seconds connect_timeout{3};
constexpr http::Limits limits{};

}  // namespace

Link::Link(asio::io_context& loop, Destination& destination, const Store& store, Reuse reuse)
    : socket_(loop),
      connect_timer_(loop),
      destination_(destination),
      store_(store),
      reuse_(reuse),
      parser_(limits) {}

Link::~Link() = default;

void Link::send(const LinkRequest& request, LinkUser& user) {
    CHECK(user_ == nullptr && (state_ == State::closed || state_ == State::idle));
    user_ = &user;
    request_ = request;
    sent_ = 0;
    if (state_ == State::idle && (request.needs_new_connection || !is_quiet())) drop_socket();
    is_reused_ = state_ == State::idle;
    if (is_reused_)
        begin();
    else
        connect(0);
}

/// True if nothing can be read from the socket, not even its end. Bytes that the worker sent
/// unasked must not be taken for the answer to the next request; the loop may not have read them
/// yet.
bool Link::is_quiet() {
    char byte = 0;
    return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Link::resume() {
    if (is_telling_) {
        was_resumed_ = true;
        return;
    }
    if (!is_paused_) return;
    const std::shared_ptr<Link> self = shared_from_this();
    is_paused_ = false;
    parse();
    if (state_ == State::busy || state_ == State::idle) read();
}

void Link::close() {
    user_ = nullptr;
    drop_socket();
}

// ── the connection ───────────────────────────────────────────────────────────────────────────────

/// Tries the next endpoint. `tried` is how many endpoints have failed already.
void Link::connect(std::size_t tried) {
    state_ = State::connecting;
    const std::size_t all = destination_.endpoints.size();
    if (tried == all) return break_off(Break::no_link);
    const std::size_t endpoint = (destination_.preferred + tried) % all;
    connect_timer_.expires_after(connect_timeout);
    connect_timer_.async_wait(
        [self = shared_from_this(), number = socket_number_, tried](error_code error) {
            if (error || number != self->socket_number_ || self->state_ != State::connecting)
                return;
            self->drop_socket();
            self->connect(tried + 1);
        });
    socket_.async_connect(
        destination_.endpoints[endpoint],
        [self = shared_from_this(), number = socket_number_, tried, endpoint](error_code error) {
            if (number != self->socket_number_) return;
            if (!error) return self->connected(endpoint);
            self->drop_socket();
            const bool is_last = tried + 1 == self->destination_.endpoints.size();
            const bool is_refused = error == asio::error::connection_refused;
            if (is_last && is_refused) return self->break_off(Break::refused);
            self->connect(tried + 1);
        });
}

void Link::connected(std::size_t endpoint) {
    destination_.preferred = endpoint;
    connect_timer_.cancel();
    error_code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    begin();
}

void Link::begin() {
    state_ = State::busy;
    piece_at_ = 0;
    is_writing_ = is_paused_ = has_head_ = false;
    in_size_ = in_taken_ = 0;
    interims_ = 0;
    parser_.reset();
    write();
    if (state_ == State::busy) read();
}

void Link::drop_socket() {
    ++socket_number_;
    state_ = State::closed;
    is_reading_ = is_watching_ = is_writing_ = is_paused_ = is_telling_ = was_resumed_ = false;
    connect_timer_.cancel();
    piece_ = nullptr;
    if (in_.size() > read_size) empty_and_keep(in_, 0);
    error_code ignored;
    socket_.close(ignored);
}

// ── the request ──────────────────────────────────────────────────────────────────────────────────

void Link::write() {
    const bool from_disk = request_.body != nullptr && !request_.body->is_in_memory();
    if (from_disk && sent_ >= head_.size())
        write_piece();
    else
        write_memory();
}

void Link::write_memory() {
    const bool has_bytes = request_.body != nullptr && request_.body->is_in_memory();
    const std::string_view body = has_bytes ? request_.body->bytes() : std::string_view();
    while (sent_ < head_.size() + body.size()) {
        const auto in_head = static_cast<std::size_t>(std::min<std::uint64_t>(sent_, head_.size()));
        const auto in_body = static_cast<std::size_t>(sent_ - in_head);
        if (!flush(std::string_view(head_).substr(in_head), body.substr(in_body))) return;
    }
    if (request_.body != nullptr && !has_bytes) write_piece();
}

void Link::write_piece() {
    const std::uint64_t offset = sent_ - head_.size();
    if (offset == request_.body->size()) {
        piece_ = nullptr;
        return;
    }
    if (piece_ != nullptr && offset < piece_at_ + piece_->size()) {
        const auto skip = static_cast<std::size_t>(offset - piece_at_);
        if (flush(std::string_view(*piece_).substr(skip), {})) write_piece();
        return;
    }
    is_writing_ = true;
    if (piece_ == nullptr) piece_ = std::make_shared<std::string>();
    request_.body->read(store_, offset, piece_,
                        [self = shared_from_this(), number = socket_number_, offset](int error) {
                            if (number != self->socket_number_) return;
                            self->is_writing_ = false;
                            if (error != 0) return self->break_off(Break::unreadable);
                            self->piece_at_ = offset;
                            self->write_piece();
                        });
}

/// Writes as much as the socket takes now. Returns false if writing must wait for room in the
/// socket, or if it failed; after a failure the worker's answer, or the end of the connection,
/// decides.
bool Link::flush(std::string_view first, std::string_view second) {
    const ssize_t sent = send_some(socket_.native_handle(), first, second);
    if (sent >= 0) {
        sent_ += static_cast<std::uint64_t>(sent);
        return true;
    }
    if (errno == EAGAIN) wait_to_write();
    return false;
}

void Link::wait_to_write() {
    is_writing_ = true;
    socket_.async_wait(asio::socket_base::wait_write,
                       [self = shared_from_this(), number = socket_number_](error_code error) {
                           if (number != self->socket_number_ || error) return;
                           self->is_writing_ = false;
                           self->write();
                       });
}

// ── the answer ───────────────────────────────────────────────────────────────────────────────────

/// Reads the answer. Reads nothing between two requests, because is_quiet() could not see bytes
/// that were already read.
void Link::read() {
    if (state_ == State::idle) return watch();
    if (is_reading_ || is_paused_) return;
    if (in_.size() < read_size) in_.resize(read_size);
    if (in_size_ == in_.size()) in_.resize(2 * in_.size());  // a long head; the parser limits it
    is_reading_ = true;
    socket_.async_read_some(
        asio::buffer(in_.data() + in_size_, in_.size() - in_size_),
        [self = shared_from_this(), number = socket_number_](error_code error, std::size_t size) {
            if (number != self->socket_number_) return;
            self->is_reading_ = false;
            if (error) return self->input_ended(error == asio::error::eof);
            self->take(size);
        });
}

/// Waits while the connection is idle. If bytes arrive, or the worker closes it, closes the
/// connection.
void Link::watch() {
    if (std::exchange(is_watching_, true)) return;
    socket_.async_wait(asio::socket_base::wait_read,
                       [self = shared_from_this(), number = socket_number_](error_code error) {
                           if (error || number != self->socket_number_) return;
                           self->is_watching_ = false;
                           if (self->state_ != State::idle) return;  // the bytes are an answer
                           self->is_quiet() ? self->watch() : self->drop_socket();
                       });
}

void Link::take(std::size_t size) {
    const bool was_full = in_size_ + size == in_.size();
    in_size_ += size;
    parse();
    if (state_ == State::closed || state_ == State::connecting) return;
    if (was_full && in_size_ == 0 && !is_reading_ && in_.size() < read_size_max)
        in_.resize(read_size_max);
    read();
}

void Link::parse() {
    const std::shared_ptr<Link> self = shared_from_this();  // the user may drop its reference
    while (state_ == State::busy && !is_paused_)
        if (!(has_head_ ? parse_body() : parse_head())) break;
}

/// Parses the head of an answer. Returns true if there may be more to parse.
bool Link::parse_head() {
    const std::string_view bytes(in_.data() + in_taken_, in_size_ - in_taken_);
    switch (parser_.parse(bytes, request_.method)) {
        case http::Progress::more: return false;
        case http::Progress::fault: break_off(Break::malformed, parser_.fault()); return false;
        case http::Progress::done: break;
    }
    const http::ResponseHead& head = parser_.head();
    in_taken_ += parser_.size();
    if (head.is_interim()) {
        parser_.reset();
        if (++interims_ > interims_max) break_off(Break::malformed);
        return state_ == State::busy;
    }
    has_head_ = true;
    is_reusable_ =
        reuse_ == Reuse::allowed && head.keep_alive && head.framing != http::Framing::until_close;
    decoder_ = http::BodyDecoder(head.framing, head.length, limits);
    user_->answer_head(head);
    return true;
}

bool Link::parse_body() {
    const std::string_view bytes(in_.data() + in_taken_, in_size_ - in_taken_);
    const http::BodyDecoder::Step step = decoder_.next(bytes);
    in_taken_ += step.consumed;
    if (!step.data.empty()) {
        const std::uint64_t number = socket_number_;
        is_telling_ = true;
        const bool must_wait = user_->answer_data(step.data) == LinkUser::Room::wait;
        if (number != socket_number_) return false;
        is_telling_ = false;
        const bool has_room_again = std::exchange(was_resumed_, false);
        is_paused_ = must_wait && !has_room_again;
    }
    switch (step.progress) {
        case http::Progress::done: finish(); return false;
        case http::Progress::fault: break_off(Break::malformed, decoder_.fault()); return false;
        case http::Progress::more: break;
    }
    if (in_taken_ == in_size_) in_taken_ = in_size_ = 0;
    return in_size_ > 0 && step.consumed > 0;
}

void Link::input_ended(bool is_clean) {
    if (!has_head_) {
        const bool is_silent = in_size_ == in_taken_ && interims_ == 0;
        if (!is_silent) return break_off(Break::truncated);
        return break_off(is_reused_ ? Break::stale : Break::missing);
    }
    if (is_clean && decoder_.end() == http::Progress::done) return finish();
    break_off(Break::truncated);
}

/// Ends a complete answer. Does not read on, because the caller does that, and the user may have
/// sent its next request by then.
void Link::finish() {
    const std::uint64_t body = request_.body == nullptr ? 0 : request_.body->size();
    const bool is_clean = sent_ == head_.size() + body && in_taken_ == in_size_;
    LinkUser* const user = std::exchange(user_, nullptr);
    if (is_reusable_ && is_clean && !is_writing_) {
        state_ = State::idle;
        in_size_ = in_taken_ = 0;
        is_paused_ = false;
        if (in_.size() > read_size && !is_reading_) in_ = std::string(read_size, '\0');
    } else {
        drop_socket();
    }
    user->answer_ended();
}

void Link::break_off(Break why, http::Fault fault) {
    LinkUser* const user = std::exchange(user_, nullptr);
    drop_socket();
    user->answer_broke(why, fault);
}

}  // namespace turnpike
