#include "http/body_decoder.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "http/chars.h"
#include "http/fields.h"

namespace turnpike::http {

namespace {

constexpr std::uint64_t size_max = std::uint64_t{1} << 63;  // sums with a size don't overflow
constexpr std::uint32_t size_digits_max = 16;

/// True for fields that a trailer must not have, because they come too late there: they frame,
/// route, authorise, or say how to read the message.
bool is_refused_in_trailer(std::string_view name) {
    constexpr std::array<std::string_view, 31> names{
        "te",
        "host",
        "range",
        "expect",
        "cookie",
        "trailer",
        "upgrade",
        "if-match",
        "if-range",
        "location",
        "forwarded",
        "connection",
        "keep-alive",
        "set-cookie",
        "retry-after",
        "content-type",
        "max-forwards",
        "authorization",
        "cache-control",
        "content-range",
        "if-none-match",
        "content-length",
        "x-forwarded-for",
        "content-encoding",
        "www-authenticate",
        "proxy-connection",
        "if-modified-since",
        "transfer-encoding",
        "proxy-authenticate",
        "if-unmodified-since",
        "proxy-authorization",
    };
    for (const std::string_view refused : names)
        if (is_named(name, refused)) return true;
    return false;
}

}  // namespace

BodyDecoder::BodyDecoder(Framing framing, std::uint64_t length, const Limits& limits)
    : extension_max_(static_cast<std::uint32_t>(limits.chunk_extension_max)),
      trailer_max_(static_cast<std::uint32_t>(limits.trailer_max)) {
    CHECK(std::max(limits.chunk_extension_max, limits.trailer_max) < UINT32_MAX);
    switch (framing) {
        case Framing::none: break;
        case Framing::length:
            remaining_ = length;
            if (length > 0) state_ = State::plain_data;
            break;
        case Framing::chunked: state_ = State::size; break;
        case Framing::until_close: state_ = State::endless_data; break;
    }
}

BodyDecoder::Step BodyDecoder::next(std::string_view bytes) {
    Step step;
    while (step.consumed < bytes.size() && !is_data() && state_ != State::complete &&
           state_ != State::failed)
        take(bytes[step.consumed++]);
    if (is_data()) {
        step.data = take_data(bytes.substr(step.consumed));
        step.consumed += step.data.size();
    }
    if (state_ == State::complete) step.progress = Progress::done;
    if (state_ == State::failed) step.progress = Progress::fault;
    return step;
}

Progress BodyDecoder::end() {
    if (state_ == State::endless_data) state_ = State::complete;
    if (state_ == State::complete) return Progress::done;
    if (state_ != State::failed) fail(Fault::truncated);
    return Progress::fault;
}

bool BodyDecoder::is_data() const {
    return state_ == State::chunk_data || state_ == State::plain_data ||
           state_ == State::endless_data;
}

std::string_view BodyDecoder::take_data(std::string_view bytes) {
    if (state_ == State::endless_data) return bytes;
    const std::string_view data =
        bytes.substr(0, std::min<std::uint64_t>(remaining_, bytes.size()));
    remaining_ -= data.size();
    if (remaining_ == 0) state_ = state_ == State::chunk_data ? State::data_cr : State::complete;
    return data;
}

void BodyDecoder::take(char c) {
    switch (state_) {
        case State::complete:
        case State::failed:
        case State::plain_data:
        case State::endless_data:
        case State::chunk_data: break;
        case State::size:
        case State::size_more: return take_size(c);
        case State::extension: return take_extension(c);
        case State::size_lf:
            counted_ = 0;
            return take_lf(c, remaining_ > 0 ? State::chunk_data : State::trailer);
        case State::data_cr:
            state_ = State::data_lf;
            if (c != '\r') fail(Fault::bad_chunk);
            return;
        case State::data_lf:
            state_ = State::size;
            if (c != '\n') fail(Fault::bad_chunk);
            return;
        case State::trailer:
            name_size_ = 0;
            if (c != '\r') return take_trailer_name(c);
            state_ = State::last_lf;
            return;
        case State::trailer_name: return take_trailer_name(c);
        case State::trailer_value: return take_trailer_value(c);
        case State::trailer_lf:
            if (count_trailer_byte()) take_lf(c, State::trailer);
            return;
        case State::last_lf: return take_lf(c, State::complete);
    }
    CHECK(false);
}

void BodyDecoder::take_size(char c) {
    if (is(hex_char, c)) {
        state_ = State::size_more;
        remaining_ = remaining_ * 16 + hex_value(c);
        if (++counted_ > size_digits_max || remaining_ >= size_max) fail(Fault::bad_chunk);
    } else if (state_ == State::size_more && c == '\r') {
        state_ = State::size_lf;
    } else if (state_ == State::size_more && c == ';') {
        counted_ = 1;
        state_ = State::extension;
        extension_ = ChunkExtension::before_name;
    } else {
        fail(state_ == State::size_more && c == '\n' ? Fault::bad_line_end : Fault::bad_chunk);
    }
}

void BodyDecoder::take_extension(char c) {
    if (c == '\r' && is_complete(extension_)) {
        state_ = State::size_lf;
        return;
    }
    const auto after = http::next(extension_, c);
    if (++counted_ > extension_max_ || !after)
        return fail(c == '\n' ? Fault::bad_line_end : Fault::bad_chunk);
    extension_ = *after;
}

void BodyDecoder::take_trailer_name(char c) {
    if (!count_trailer_byte()) return;
    if (is(token_char, c)) {
        state_ = State::trailer_name;
        if (name_size_ < name_max) name_[name_size_++] = c;
    } else if (c == ':' && name_size_ > 0 && !is_refused_in_trailer({name_.data(), name_size_})) {
        state_ = State::trailer_value;
    } else {
        fail(c == '\n' ? Fault::bad_line_end : Fault::bad_trailer);
    }
}

void BodyDecoder::take_trailer_value(char c) {
    if (!count_trailer_byte()) return;
    if (c == '\r') {
        state_ = State::trailer_lf;
    } else if (!is(value_char, c)) {
        fail(c == '\n' ? Fault::bad_line_end : Fault::bad_trailer);
    }
}

/// Counts one more byte of a trailer line. Returns false if that is one too many; then decoding has
/// failed.
bool BodyDecoder::count_trailer_byte() {
    if (++counted_ <= trailer_max_) return true;
    fail(Fault::trailer_too_large);
    return false;
}

void BodyDecoder::take_lf(char c, State then) {
    state_ = then;
    if (c != '\n') fail(Fault::bad_line_end);
}

void BodyDecoder::fail(Fault fault) {
    state_ = State::failed;
    fault_ = fault;
}

}  // namespace turnpike::http
