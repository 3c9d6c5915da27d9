#include "gate/reply_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/empty_and_keep.h"
#include "http/write.h"

namespace turnpike {

namespace {

constexpr std::size_t chunk_max = std::size_t{64} * 1024;
constexpr std::size_t kept_out_max = std::size_t{16} * 1024;

}  // namespace

void ReplyWriter::say_continue() {
    CHECK(state_ == State::idle);
    out_.append("HTTP/1.1 100 Continue\r\n\r\n");
}

// ── begin ────────────────────────────────────────────────────────────────────────────────────────

void ReplyWriter::begin_own(const OwnReply& reply, const ReplyOptions& options) {
    CHECK(state_ == State::idle);
    append_own_reply(out_, reply, options);
    state_ = State::own;
}

void ReplyWriter::begin_problem(const ProblemReply& reply, const ReplyOptions& options) {
    CHECK(state_ == State::idle);
    append_problem_reply(out_, reply, options);
    state_ = State::own;
}

void ReplyWriter::begin_preflight(std::string_view method, std::string_view fields,
                                  const ReplyOptions& options) {
    CHECK(state_ == State::idle);
    append_preflight_reply(out_, method, fields, options);
    state_ = State::own;
}

void ReplyWriter::begin_answer(Answer& answer, const Store& store, const ReplyOptions& options,
                               const JobMarks& marks) {
    CHECK(state_ == State::idle);
    framing_ = append_answer_head(out_, answer.head(), options, marks);
    answer_ = &answer;
    store_ = &store;
    is_between_events_ = true;
    body_taken_ = {};
    state_ = State::flowing;
}

// ── break off ────────────────────────────────────────────────────────────────────────────────────

bool ReplyWriter::can_tell_of_break() const {
    const bool has_open_end =
        framing_ == ReplyFraming::chunked || framing_ == ReplyFraming::until_close;
    return state_ == State::flowing && has_open_end && is_event_stream(answer_->head());
}

void ReplyWriter::break_off(const ProblemText& text) {
    CHECK(can_tell_of_break());
    append_error_event(error_event_, text);
    state_ = State::breaking;
    if (answer_->state() != AnswerState::broken)
        answer_->abandon();  // the worker may go on writing for a long time
}

// ── write ────────────────────────────────────────────────────────────────────────────────────────

ReplyWriter::Next ReplyWriter::next() {
    switch (state_) {
        case State::idle: return has_bytes() ? Next::bytes : Next::later;
        case State::own: return has_bytes() ? Next::bytes : Next::finished;
        case State::flowing: return next_of_flowing();
        case State::drained: return has_bytes() ? Next::bytes : Next::finished;
        case State::breaking: return next_of_breaking();
        case State::telling: return has_bytes() ? Next::bytes : Next::broken;
    }
    return Next::broken;
}

ReplyWriter::Next ReplyWriter::next_of_flowing() {
    if (answer_->state() == AnswerState::lost) return Next::broken;
    if (add_chunk() || has_bytes()) return Next::bytes;
    if (!answer_->is_drained()) {  // a broken answer is broken off when its job ends
        answer_->want(*store_);
        return Next::later;
    }
    state_ = State::drained;
    if (framing_ != ReplyFraming::chunked) return Next::finished;
    out_.append(http::last_chunk);
    return Next::bytes;
}

ReplyWriter::Next ReplyWriter::next_of_breaking() {
    if (answer_->state() == AnswerState::lost) return Next::broken;
    if (add_chunk() || has_bytes()) return Next::bytes;
    if (!answer_->is_read_out()) return Next::later;
    const bool is_chunked = framing_ == ReplyFraming::chunked;
    if (!is_chunked || !is_between_events_) error_event_.insert(0, "\n\n");
    if (is_chunked) http::append_chunk_head(out_, error_event_.size());
    out_.append(error_event_);
    if (is_chunked) out_.append("\r\n");
    state_ = State::telling;
    return Next::bytes;
}

/// Copies the next chunk into the buffer. Returns false if there is none, or no room for it.
bool ReplyWriter::add_chunk() {
    const std::string_view front = answer_->front();
    if (framing_ != ReplyFraming::chunked || front.empty() || out_.size() >= chunk_max)
        return false;
    const std::string_view piece = front.substr(0, chunk_max);
    http::append_chunk_head(out_, piece.size());
    out_.append(piece).append("\r\n");
    is_between_events_ = piece.ends_with("\n\n") || piece.ends_with("\r\n\r\n");
    take_from_answer(piece.size());
    return true;
}

void ReplyWriter::take_from_answer(std::size_t size) {
    body_taken_ = body_taken_ + Bytes{size};
    answer_->consume(*store_, size);
}

bool ReplyWriter::has_bytes() const {
    return out_sent_ < out_.size() || (is_direct() && !answer_->front().empty());
}

/// True if the answer is written from where it waits.
bool ReplyWriter::is_direct() const {
    return (state_ == State::flowing || state_ == State::breaking) &&
           framing_ != ReplyFraming::chunked;
}

ReplyWriter::Pieces ReplyWriter::pieces() const {
    return {.first = std::string_view(out_).substr(out_sent_),
            .second = is_direct() ? answer_->front() : std::string_view()};
}

void ReplyWriter::wrote(std::size_t size) {
    const std::size_t of_out = std::min(size, out_.size() - out_sent_);
    CHECK(size == of_out || is_direct());
    out_sent_ += of_out;
    if (out_sent_ == out_.size()) {
        out_.clear();
        out_sent_ = 0;
    }
    if (size > of_out) take_from_answer(size - of_out);
}

void ReplyWriter::clear() {
    empty_and_keep(out_, kept_out_max);
    out_sent_ = 0;
    empty_and_keep(error_event_, 0);
    answer_ = nullptr;
    store_ = nullptr;
    framing_ = ReplyFraming::none;
    body_taken_ = {};
    state_ = State::idle;
}

}  // namespace turnpike
