#include "http/response_reader.h"

namespace turnpike::http {

namespace {

constexpr std::size_t usual_size = std::size_t{16} * 1024;
constexpr std::size_t large_size = std::size_t{64} * 1024;  // for long bodies

}  // namespace

ResponseReader::ResponseReader(const Limits& limits) : limits_(limits), parser_(limits) {}

void ResponseReader::begin(Method asked) {
    clear();
    asked_ = asked;
    state_ = State::head;
}

void ResponseReader::clear() {
    input_.clear(usual_size);
    parser_.reset();
    data_ = {};
    state_ = State::idle;
    rest_ = Input::open;
    has_begun_ = is_long_ = false;
    fault_ = Fault::none;
    interims_ = 0;
}

std::span<char> ResponseReader::room() {
    data_ = {};
    return input_.room({.if_empty = is_long_ && state_ == State::body ? large_size : usual_size,
                        .most = state_ == State::head ? limits_.head_max : 0});
}

void ResponseReader::came(std::size_t size) {
    input_.came(size);
    has_begun_ = has_begun_ || size > 0;
    is_long_ = is_long_ || input_.is_filled();
}

void ResponseReader::input_ended(End how) {
    rest_ = how == End::clean ? Input::ended_cleanly : Input::broken;
}

Found ResponseReader::next() {
    data_ = {};
    switch (state_) {
        case State::idle: return Found::more;
        case State::head: return read_head();
        case State::body: return read_body();
        case State::whole: return Found::whole;
        case State::broken: return Found::broken;
    }
    return Found::broken;
}

Found ResponseReader::read_head() {
    for (;;) {
        switch (parser_.parse(input_.bytes(), asked_)) {
            case Progress::more: return rest_ == Input::open ? Found::more : fail(Fault::truncated);
            case Progress::fault: return fail(parser_.fault());
            case Progress::done: break;
        }
        input_.take(parser_.size());
        if (!head().is_interim()) break;
        if (++interims_ > limits_.interims_max) return fail(Fault::too_many_interims);
        parser_.reset();
    }
    decoder_ = BodyDecoder(head().framing, head().length, limits_);
    state_ = State::body;
    return Found::head;
}

Found ResponseReader::read_body() {
    const BodyDecoder::Step step = decoder_.next(input_.bytes());
    input_.take(step.consumed);
    data_ = step.data;
    if (step.progress == Progress::fault) return fail(decoder_.fault());
    if (step.progress == Progress::done) state_ = State::whole;
    if (!data_.empty()) return Found::data;
    if (state_ == State::whole) return Found::whole;
    return rest_ == Input::open ? Found::more : end_body();
}

/// Handles the end of the input. A body that ends with its connection must not be taken for whole
/// if the connection failed.
Found ResponseReader::end_body() {
    if (rest_ == Input::broken) return fail(Fault::truncated);
    if (decoder_.end() == Progress::fault) return fail(decoder_.fault());
    state_ = State::whole;
    return Found::whole;
}

Found ResponseReader::fail(Fault fault) {
    fault_ = fault;
    state_ = State::broken;
    return Found::broken;
}

bool ResponseReader::is_reusable() const {
    return state_ == State::whole && rest_ == Input::open && input_.empty() && head().keep_alive;
}

}  // namespace turnpike::http
