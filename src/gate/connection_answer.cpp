// The second half of a connection: writes the answer to a request, ours or a worker's.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/empty_and_keep.h"
#include "gate/connection.h"
#include "gate/gate.h"
#include "gate/trouble_text.h"
#include "http/write.h"
#include "os/send.h"

namespace turnpike {

using boost::system::error_code;

namespace {

constexpr std::size_t chunk_max = 64 * 1024;
constexpr std::size_t kept_out_max = 16 * 1024;

/// True if the worker has finished with the job, so that nobody reads its body any more. If the job
/// ended for another reason, the worker may still be receiving the body.
bool has_worker_finished(EndReason reason) {
    return reason == EndReason::answered || reason == EndReason::bad_input ||
           is_model_failure(reason);
}

}  // namespace

// ── what the engine decided about the job ────────────────────────────────────────────────────────

void Connection::sent(const SendJob& send) {
    record_.lane = send.lane;
    record_.gpu.assign(gate_.deps_.lanes[send.lane.value].gpu);
    record_.attempts = send.number;
}

void Connection::ended(const EndJob& end) {
    const Instant now = gate_.deps_.clock.now();
    const bool has_run = end.attempts > 0;
    has_job_ended_ = true;
    record_.lane = end.lane;
    record_.attempts = end.attempts;
    record_.outcome = outcome_of(end.reason);
    record_.reason = end.reason;
    record_.upload = (queued_at_ ? *queued_at_ : now) - arrived_at_;
    record_.queue = queue_time();
    record_.run = has_run ? now - exchange_->attempt.began : Duration::zero();
    // The client may read the answer for a long time, so give the memory back now.
    if (has_worker_finished(end.reason)) exchange_->body.clear();
    if (has_client_left_) return close();
    if (state_ == State::answering) {  // write the rest of the flowing answer, or break it off
        if (exchange_->answer.state() != AnswerState::complete) return break_stream();
        if (!is_blocked_) write();
        return;
    }
    if (state_ == State::storing) reply_options_.keeps_alive = false;  // a write is under way
    if (exchange_->answer.state() == AnswerState::complete &&
        (end.reason == EndReason::answered || end.reason == EndReason::bad_input ||
         end.reason == EndReason::model_failed)) {
        answer_job();
    } else {
        answer_problem(take_objection(end), end.retry_after);
    }
    go_on();
}

/// Returns the time from the last byte of the body to the last attempt, or until now.
Duration Connection::queue_time() const {
    if (!queued_at_) return Duration::zero();
    const bool has_run = record_.attempts > 0;
    return (has_run ? exchange_->attempt.began : gate_.deps_.clock.now()) - *queued_at_;
}

JobMarks Connection::marks() const {
    const Instant now = gate_.deps_.clock.now();
    const bool has_run = record_.attempts > 0;
    const AttemptReport& attempt = exchange_->attempt;
    return {.job = record_.id.view(),
            .lane = has_run ? std::optional(record_.lane.value) : std::nullopt,
            .attempts = record_.attempts,
            .generation = attempt.generation.is_none() ? 0 : attempt.generation.value,
            .queue = queue_time(),
            .run = has_run ? now - attempt.began : Duration::zero()};
}

// ── choosing the answer ──────────────────────────────────────────────────────────────────────────

void Connection::answer_own(const OwnReply& reply) {
    if (is_request_partial_) reply_options_.keeps_alive = false;
    reply_options_.date = gate_.date();
    append_own_reply(out_, reply, reply_options_);
    begin_writing();
}

void Connection::answer_problem(const Objection& objection, Duration retry_after,
                                std::string_view allow) {
    if (is_request_partial_) reply_options_.keeps_alive = false;
    reply_options_.date = gate_.date();
    const std::optional<JobMarks> job =
        exchange_ == nullptr ? std::nullopt : std::optional(marks());
    append_problem_reply(out_,
                         {.text = {.problem = objection.problem,
                                   .detail = objection.detail,
                                   .job = job ? job->job : std::string_view(),
                                   .lane = lane_with_log()},
                          .retry_after = retry_after,
                          .allow = allow,
                          .marks = job ? &*job : nullptr},
                         reply_options_);
    record_problem(objection);
    is_job_answer_ = false;
    begin_writing();
}

/// Returns why a job that ended now has no answer of its worker.
Objection Connection::take_objection(const EndJob& end) {
    if (objection_) return *std::exchange(objection_, {});
    if (end.reason == EndReason::known_poison) return gate_.objection_to_known_poison(end.first);
    return objection_to_end();
}

/// Returns the objection for a job that ended without a whole answer.
Objection Connection::objection_to_end() const {
    Objection objection = gate_.objection_to(arrival_.pool, record_.reason);
    if (is_caused_by_attempt(record_.reason))
        objection.detail = detail_for(client(), exchange_->attempt.trouble);
    return objection;
}

/// Returns how much the client may read of what its job's worker said.
Audience Connection::client() const {
    const bool is_local = !arrival_.is_forwarded && (peer_.transport == Transport::unix_socket ||
                                                     is_loopback_host(peer_.address));
    const bool is_trusted =
        is_local || gate_.deps_.config.pools[arrival_.pool.value].errors == ErrorsShown::full;
    return is_trusted ? Audience::trusted : Audience::anybody;
}

/// Returns the lane on which the job ran last. Nullopt if it never ran, or if somebody else started
/// the worker: then we have no log of it.
std::optional<std::uint64_t> Connection::lane_with_log() const {
    const bool has_run = exchange_ != nullptr && record_.attempts > 0;
    if (!has_run || !gate_.deps_.config.pools[arrival_.pool.value].is_started())
        return std::nullopt;
    return record_.lane.value;
}

/// Keeps the problem that the client gets, for the log.
void Connection::record_problem(const Objection& objection) {
    record_.status = status_of(objection.problem);
    record_failure(objection);
}

/// Keeps what the client reads about it, and what the worker said and the client does not read.
void Connection::record_failure(const Objection& objection) {
    record_.failure = {};
    record_.failure.problem.assign(slug_of(objection.problem));
    record_.failure.detail.assign(objection.detail);
    if (has_job_ended_ && is_caused_by_attempt(record_.reason))
        record_.failure.withheld = words_withheld_from(client(), exchange_->attempt.trouble);
}

/// Starts a worker's answer: the whole of it, or what has come so far.
void Connection::answer_job() {
    const AnswerHead& head = exchange_->answer.head();
    record_.status = head.status;
    const bool needs_close = reply_options_.is_http_1_0 && head.has_body && !head.has_length;
    if (needs_close || gate_.is_shutting_down_) reply_options_.keeps_alive = false;
    reply_options_.date = gate_.date();
    framing_ = append_answer_head(out_, head, reply_options_, marks());
    is_job_answer_ = true;
    is_last_chunk_out_ = false;
    is_between_events_ = true;
    begin_writing();
}

void Connection::answer_moved() {
    const std::shared_ptr<Connection> self = shared_from_this();  // write() may close us
    const AnswerState answer = exchange_->answer.state();
    if (answer == AnswerState::lost) return cut();
    if (state_ == State::waiting && answer == AnswerState::flowing) return answer_job();
    if (state_ == State::answering && is_job_answer_ && !is_blocked_) write();
}

// ── writing ──────────────────────────────────────────────────────────────────────────────────────

void Connection::begin_writing() {
    state_ = State::answering;
    gate_.wait_for(*this, Wait::nothing);
    written_ = 0;
    is_blocked_ = false;
    write();
}

/// Writes as much as the socket takes. A nested call returns at once, because the outer call writes
/// what has come meanwhile.
void Connection::write() {
    if (is_writing_) return;
    const std::shared_ptr<Connection> self = shared_from_this();
    is_writing_ = true;
    Next next = fill();
    // Each step may let the worker go on, which may end the job and close this connection.
    while (next == Next::bytes && flush() && state_ == State::answering) next = fill();
    is_writing_ = false;
    if (state_ != State::answering) return;
    if (next == Next::finished) return answered();
    if (next == Next::broken) return cut();
    if (next == Next::later) read();  // to notice if the client leaves
}

/// Puts the next bytes into the output buffer. An answer without chunks is not copied: flush()
/// writes it directly.
Connection::Next Connection::fill() {
    if (!is_job_answer_) return out_sent_ < out_.size() ? Next::bytes : Next::finished;
    Answer& answer = exchange_->answer;
    const std::string_view front = answer.front();
    if (framing_ == ReplyFraming::chunked && !front.empty() && out_.size() < chunk_max) {
        const std::string_view piece = front.substr(0, chunk_max);
        http::append_chunk_head(out_, piece.size());
        out_.append(piece).append("\r\n");
        is_between_events_ = piece.ends_with("\n\n") || piece.ends_with("\r\n\r\n");
        record_.bytes_out = record_.bytes_out + Bytes{piece.size()};
        answer.consume(gate_.deps_.store, piece.size());
        return Next::bytes;
    }
    if (out_sent_ < out_.size() || !front.empty()) return Next::bytes;
    if (is_breaking_) return fill_end_of_broken();
    if (!answer.is_drained()) {  // a broken answer is cut when its job ends
        answer.want(gate_.deps_.store);
        return Next::later;
    }
    if (framing_ == ReplyFraming::chunked && !std::exchange(is_last_chunk_out_, true)) {
        out_.append(http::last_chunk);
        return Next::bytes;
    }
    return has_job_ended_ ? Next::finished : Next::later;
}

/// Handles a job that ended in the middle of its answer. A client of server-sent events gets a last
/// event that says so, after all that the worker sent.
void Connection::break_stream() {
    record_failure(objection_to_end());
    if (!can_tell_of_break()) return cut();
    is_breaking_ = must_send_error_event_ = true;
    if (exchange_->answer.state() != AnswerState::broken)
        exchange_->answer.abandon();  // the worker may go on writing for a long time
    if (!is_blocked_) write();
}

bool Connection::can_tell_of_break() const {
    const bool has_open_end =
        framing_ == ReplyFraming::chunked || framing_ == ReplyFraming::until_close;
    return is_job_answer_ && has_open_end && is_event_stream(exchange_->answer.head()) &&
           gate_.deps_.config.pools[arrival_.pool.value].is_native();
}

Connection::Next Connection::fill_end_of_broken() {
    if (!exchange_->answer.is_read_out()) return Next::later;
    if (!std::exchange(must_send_error_event_, false)) return Next::broken;
    const bool is_chunked = framing_ == ReplyFraming::chunked;
    const Objection objection = objection_to_end();
    std::string event(is_chunked && is_between_events_ ? "" : "\n\n");
    append_error_event(event, {.problem = objection.problem,
                               .detail = objection.detail,
                               .job = record_.id.view(),
                               .lane = lane_with_log()});
    if (is_chunked) http::append_chunk_head(out_, event.size());
    out_.append(event);
    if (is_chunked) out_.append("\r\n");
    return Next::bytes;
}

/// Writes some bytes. Returns false if the socket is full or the client is gone.
bool Connection::flush() {
    const bool is_direct = is_job_answer_ && framing_ != ReplyFraming::chunked;
    const std::string_view front = is_direct ? exchange_->answer.front() : std::string_view();
    const std::string_view out = std::string_view(out_).substr(out_sent_);
    const ssize_t sent = send_some(socket_.native_handle(), out, front);
    if (sent < 0 && errno == EAGAIN) return wait_to_write(), false;
    if (sent < 0) return client_left(), false;
    const auto size = static_cast<std::size_t>(sent);
    written_ += size;
    const std::size_t of_out = std::min(size, out.size());
    out_sent_ += of_out;
    if (out_sent_ == out_.size()) out_.clear(), out_sent_ = 0;
    if (size > of_out) {
        record_.bytes_out = record_.bytes_out + Bytes{size - of_out};
        exchange_->answer.consume(gate_.deps_.store, size - of_out);
    }
    return true;
}

void Connection::wait_to_write() {
    is_blocked_ = true;
    if (wait != Wait::writing) gate_.wait_for(*this, Wait::writing);
    socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
        if (error || self->state_ != State::answering) return;
        self->is_blocked_ = false;
        self->write();
        if (self->state_ == State::answering && !self->is_blocked_)
            self->gate_.wait_for(*self, Wait::nothing);
        self->go_on();
    });
}

/// Ends the request once its whole answer is written.
void Connection::answered() {
    release_job();
    gate_.wait_for(*this, Wait::nothing);
    empty_and_keep(out_, kept_out_max);
    parser_.reset();
    if (reply_options_.keeps_alive && !gate_.is_shutting_down_) {
        while (!unread().empty()) {  // skip an unwanted body, which has arrived completely
            const auto step = decoder_.next(unread());
            in_start_ += step.consumed;
            if (step.progress != http::Progress::more || step.consumed == 0) break;
        }
        decoder_ = {};
        state_ = State::head;
        return go_on();
    }
    if (!is_request_partial_ || has_client_left_) return close();
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    state_ = State::closing;
    gate_.wait_for(*this, Wait::closing);
    go_on();
}

/// Closes the connection in the middle of an answer, so that the client sees that it is incomplete.
void Connection::cut() {
    if (!has_job_ended_ && !job_.is_none()) return client_left();
    close();
}

void Connection::log_end() {
    if (exchange_ != nullptr && !exchange_->attempt.stacks.empty()) {
        record_.is_slow = true;
        gate_.recent_.keep_stacks(job_, std::exchange(exchange_->attempt.stacks, {}));
    }
    gate_.log_end(record_);
}

void Connection::release_job() {
    if (job_.is_none()) return;
    gate_.release(job_);
    if (has_job_ended_) log_end();
    if (exchange_ != nullptr) {
        exchange_->answer.abandon();
        gate_.deps_.exchanges.close(std::move(exchange_));
        exchange_ = nullptr;
    }
    job_ = {};
    is_job_answer_ = false;
    record_.job = {};
    record_.lane = {};
    record_.attempts = 0;
    record_.status = 0;
    record_.is_slow = false;
    record_.failure = {};
    record_.bytes_in = record_.bytes_out = {};
}

void Connection::close() {
    if (state_ == State::closed) return;
    state_ = State::closed;
    gate_.wait_for(*this, Wait::nothing);
    error_code ignored;
    socket_.close(ignored);
    release_job();
    gate_.forget(*this);
}

}  // namespace turnpike
