#include "http/request_reader.h"

#include "base/check.h"

namespace turnpike::http {

namespace {

constexpr std::size_t usual_size = std::size_t{4} * 1024;
constexpr std::size_t large_size = std::size_t{64} * 1024;  // for long bodies

}  // namespace

RequestReader::RequestReader(const Limits& limits) : limits_(limits), parser_(limits) {}

std::span<char> RequestReader::room() {
    data_ = {};
    return input_.room({.if_empty = is_long_body_wanted() ? large_size : usual_size,
                        .most = state_ == State::head ? limits_.head_max : 0});
}

/// True only if the owner takes the body: nobody waits for the body of a request that was refused.
bool RequestReader::is_long_body_wanted() const {
    return state_ == State::body && is_body_wanted_ &&
           (head().length > usual_size || body_taken_ > usual_size);
}

Found RequestReader::next() {
    data_ = {};
    switch (state_) {
        case State::head: return read_head();
        case State::body: is_body_wanted_ = true; return read_body();
        case State::whole: return Found::whole;
        case State::broken: return Found::broken;
        case State::discarding: input_.take_all(); return Found::more;
    }
    return Found::broken;
}

Found RequestReader::read_head() {
    switch (parser_.parse(input_.bytes())) {
        case Progress::more: return Found::more;
        case Progress::fault: return fail(parser_.fault());
        case Progress::done: break;
    }
    input_.take(parser_.size());
    decoder_ = BodyDecoder(head().framing, head().length, limits_);
    body_taken_ = 0;
    is_body_wanted_ = false;
    state_ = State::body;
    return Found::head;
}

Found RequestReader::read_body() {
    const BodyDecoder::Step step = decoder_.next(input_.bytes());
    input_.take(step.consumed);
    body_taken_ += step.consumed;
    data_ = step.data;
    if (step.progress == Progress::fault) return fail(decoder_.fault());
    if (step.progress == Progress::done) state_ = State::whole;
    if (!data_.empty()) return Found::data;
    return state_ == State::whole ? Found::whole : Found::more;
}

Found RequestReader::fail(Fault fault) {
    fault_ = fault;
    state_ = State::broken;
    return Found::broken;
}

bool RequestReader::skip_body() {
    while (state_ == State::body && read_body() == Found::data) {
    }
    data_ = {};
    return state_ == State::whole;
}

void RequestReader::begin_next() {
    CHECK(state_ == State::whole);
    parser_.reset();
    state_ = State::head;
}

void RequestReader::discard_rest() {
    input_.take_all();
    state_ = State::discarding;
}

bool RequestReader::has_whole_request() const {
    switch (state_) {
        case State::head: return false;
        case State::body:
            if (head().framing == Framing::chunked) return false;
            return head().length - body_taken_ <= input_.bytes().size();
        case State::whole: return true;
        case State::broken:
        case State::discarding: return false;
    }
    return false;
}

}  // namespace turnpike::http
