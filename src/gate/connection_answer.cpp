// A connection answers: it chooses the answer, and writes it as the socket takes it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "gate/connection.h"
#include "gate/trouble_text.h"

namespace turnpike {

namespace {

/// A rest of this size in the send buffer counts as taken by the client.
constexpr std::size_t in_passing_max = std::size_t{64} * 1024;

/// When a job may come again whose body found no descriptor or memory.
constexpr Duration after_shortage = 1s;

}  // namespace

void Connection::ended(const EndJob& end) {
    const bool is_storing = state_ == State::storing;
    job_.end(end);
    if (client_ == Client::left) {
        if (objection_) job_.note_problem(*objection_);  // for the log
        return close();
    }
    Answer& answer = job_.exchange().answer;
    // An answer that began and broke in this turn is sent as far as it came, like any other.
    if (state_ == State::waiting && answer.is_partial() && is_caused_by_attempt(end.reason))
        answer_job();
    if (state_ == State::closed) return;
    if (state_ == State::answering || state_ == State::blocked) {
        if (answer.state() != AnswerState::complete) return break_stream();
        return state_ == State::answering ? write() : void();
    }
    if (is_storing) reply_options_.keeps_alive = false;  // a write is under way
    if (answer.state() == AnswerState::complete &&
        (end.reason == EndReason::answered || end.reason == EndReason::bad_input ||
         end.reason == EndReason::model_failed))
        return answer_job();
    const Objection objection = take_objection(end);
    const bool is_ours = objection.problem == Problem::shortage;
    answer_problem(objection,
                   is_ours ? std::max(end.retry_after, after_shortage) : end.retry_after);
}

// ── choosing the answer ──────────────────────────────────────────────────────────────────────────

/// A request that has not come completely is not read to its end, so the connection can't go on.
void Connection::prepare_own_answer() {
    if (!reader_.has_whole_request()) reply_options_.keeps_alive = false;
    reply_options_.date = deps_.date.now();
}

void Connection::answer_own(const OwnReply& reply) {
    prepare_own_answer();
    writer_.begin_own(reply, reply_options_);
    begin_writing();
}

void Connection::answer_problem(const Objection& objection, Duration retry_after,
                                std::string_view allow) {
    prepare_own_answer();
    const std::optional<JobMarks> marks =
        job_.is_open() ? std::optional(job_.marks()) : std::nullopt;
    writer_.begin_problem({.text = {.problem = objection.problem,
                                    .detail = objection.detail,
                                    .job = marks ? marks->job : std::string_view(),
                                    .lane = job_.lane_with_log()},
                           .retry_after = retry_after,
                           .allow = allow,
                           .marks = marks ? &*marks : nullptr},
                          reply_options_);
    if (job_.is_open()) job_.note_problem(objection);
    begin_writing();
}

/// Returns why a job that ended now has no answer of its worker.
Objection Connection::take_objection(const EndJob& end) {
    if (objection_) return *std::exchange(objection_, {});
    if (end.reason == EndReason::known_poison) return deps_.objections.of_known_poison(end.first);
    return job_.objection_to_end();
}

/// Starts a worker's answer: the whole of it, or what has come so far.
void Connection::answer_job() {
    Answer& answer = job_.exchange().answer;
    const AnswerHead& head = answer.head();
    job_.note_status(head.status);
    const bool needs_close = reply_options_.is_http_1_0 && head.has_body && !head.has_length;
    if (needs_close || deps_.stage != GateStage::open) reply_options_.keeps_alive = false;
    reply_options_.date = deps_.date.now();
    writer_.begin_answer(answer, deps_.disk, reply_options_, job_.marks());
    begin_writing();
}

void Connection::answer_moved() {
    const bool has_begun = job_.exchange().answer.state() != AnswerState::none;
    if (state_ == State::waiting && has_begun) return answer_job();
    if (state_ == State::answering) write();
}

// ── writing ──────────────────────────────────────────────────────────────────────────────────────

void Connection::begin_writing() {
    state_ = State::answering;
    wait_for(Wait::nothing);
    pace_.begin_answer();
    write();
}

/// Writes as much as the socket takes.
void Connection::write() {
    for (;;) {
        switch (writer_.next()) {
            case ReplyWriter::Next::bytes:
                if (!flush()) return;
                break;
            case ReplyWriter::Next::later: return read();  // to notice if the client leaves
            case ReplyWriter::Next::finished: return job_.is_live() ? read() : all_written();
            case ReplyWriter::Next::broken: return cut();
        }
    }
}

/// Writes some bytes. Returns false if the socket is full or the client is gone.
bool Connection::flush() {
    const auto [first, second] = writer_.pieces();
    const auto size = transport_->write(first, second);
    if (size) {
        pace_.wrote(*size);
        writer_.wrote(*size);
        if (job_.is_open()) job_.note_written(writer_.body_bytes_taken());
        return true;
    }
    if (size.error() == Unwritten::gone) {
        give_up(Departure::left);
    } else if (state_ == State::answering) {
        state_ = State::blocked;
        pace_.start_clock(deps_.clock.now());
        if (wait != Wait::writing) wait_for(Wait::writing);
        transport_->await_writable();
    }
    return false;
}

void Connection::can_write() {
    if (state_ != State::blocked) return;
    state_ = State::answering;
    write();
    if (state_ == State::answering && wait == Wait::writing) {  // nothing waits for the client now
        pace_.stop_clock(deps_.clock.now());
        wait_for(Wait::nothing);
    }
    read();
}

// ── how fast the client reads ────────────────────────────────────────────────────────────────────

RateRule Connection::rate_rule() const {
    const GateConfig& config = deps_.config.gate;
    return {.per_second = config.answer_rate_min, .window = config.rate_window};
}

bool Connection::reads_too_slowly() const {
    const Answer* answer = waiting_answer();
    const Held held = answer != nullptr && answer->holds_writer() ? Held::lane : Held::answer;
    return pace_.is_too_slow(rate_rule(), held);
}

/// Returns how many bytes the client still has to take.
std::size_t Connection::look_at_client() {
    const std::size_t unsent = transport_->unsent();
    pace_.look(unsent, rate_rule(), deps_.clock.now());
    return unsent;
}

Answer* Connection::waiting_answer() const {
    const bool is_read = state_ == State::answering || state_ == State::blocked;
    return is_read && job_.is_open() && client_ != Client::left ? &job_.exchange().answer : nullptr;
}

std::uint64_t Connection::measure_reading_rate() {
    look_at_client();
    return pace_.rate();
}

/// Everything is written. If much of it is still in the send buffer, the client may need a long time,
/// and what becomes of its answer is not known yet. A short rest is left to the kernel, so that jobs
/// with short answers cost no further system call.
void Connection::all_written() {
    if (pace_.unseen() <= in_passing_max || look_at_client() <= in_passing_max) return answered();
    state_ = State::draining;
    pace_.start_clock(deps_.clock.now());
    wait_for(Wait::draining);
    read();  // a client that sends its next request has taken this answer, most likely
}

void Connection::go_on_draining() {
    if (transport_->is_dead()) return give_up(Departure::left);
    if (look_at_client() <= in_passing_max) return answered();
    if (reads_too_slowly()) return cut_off(Departure::too_slow);
    if (wait != Wait::draining) wait_for(Wait::draining);
}

/// Handles a job that ended in the middle of its answer. A client of server-sent events of a native
/// worker gets a last event that says so, after all that the worker sent.
void Connection::break_stream() {
    const Objection objection = job_.objection_to_end();
    job_.note_break(objection);
    if (!writer_.can_tell_of_break() || !deps_.config.pools[job_.pool().value].is_native())
        return cut();
    writer_.break_off({.problem = objection.problem,
                       .detail = objection.detail,
                       .job = job_.record().id.view(),
                       .lane = job_.lane_with_log()});
    if (state_ == State::answering) write();
}

/// Ends the request once its whole answer is written. If the next one is there already, it waits
/// until everything that this one caused is done.
void Connection::answered() {
    CHECK(!job_.is_live());
    writer_.clear();
    if (job_.is_open()) deps_.live_jobs.remove(job_.id());
    job_.release();
    wait_for(Wait::nothing);
    pace_.stop_clock(deps_.clock.now());
    if (reply_options_.keeps_alive && deps_.stage == GateStage::open) {
        CHECK(reader_.skip_body());  // an unwanted body has come completely
        reader_.begin_next();
        state_ = State::head;
        if (reader_.has_input()) return deps_.wakeups.add(*this);
        wait_for(Wait::request);
        return read();
    }
    // Bytes that nobody has read would make the kernel throw the answer away. So wait for the client.
    const bool is_all_read =
        reader_.has_whole_request() && !reader_.has_input() && transport_->is_quiet();
    if (is_all_read || client_ != Client::sends) return close();
    transport_->end_output();
    reader_.discard_rest();
    state_ = State::closing;
    pace_.start_clock(deps_.clock.now());
    wait_for(Wait::closing);
    read();
}

/// Closes the connection in the middle of an answer, so that the client sees that it is incomplete.
void Connection::cut() {
    const bool is_lost = job_.is_open() && job_.exchange().answer.state() == AnswerState::lost;
    if (is_lost) return give_up(Departure::answer_lost);
    close();
}

}  // namespace turnpike
