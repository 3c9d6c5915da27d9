// What must hold for every message that the parsers accept, and for any bytes, however they are
// split.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/random.h"
#include "http/body_decoder.h"
#include "http/fields.h"
#include "http/message.h"
#include "http/write.h"

namespace turnpike::http::fuzz {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
}

inline void require_clean(Fields fields) {
    for (const Field& field : fields) {
        require(!field.name.empty(), "a field has a name");
        for (const char c : field.name)
            require(c > ' ' && c < 0x7f && c != ':', "a name has no space, colon or control byte");
        for (const char c : field.value) {
            const bool is_control = (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
            require(!is_control, "a value has no control byte");
        }
        require(field.value.empty() || (field.value.front() > ' ' || field.value.front() < 0),
                "a value does not begin with a space");
    }
}

/// A message has one framing at most: one field names it, and the parser agrees with that field.
inline void require_one_framing(Fields fields, Framing framing) {
    const auto count = [&](std::string_view name) {
        return std::ranges::count_if(fields,
                                     [&](const Field& f) { return is_named(f.name, name); });
    };
    const auto lengths = count("content-length");
    const auto codings = count("transfer-encoding");
    require(lengths + codings <= 1, "there are never two framings");
    if (framing == Framing::length) require(lengths == 1, "a length comes from a field");
    if (framing == Framing::chunked) require(codings == 1, "chunked comes from a field");
}

inline bool are_equal(Fields a, Fields b) {
    return std::ranges::equal(a, b, [](const Field& left, const Field& right) {
        return left.name == right.name && left.value == right.value;
    });
}

inline void append_fields(std::string& out, Fields fields) {
    for (const Field& field : fields) append_field(out, field.name, field.value);
    out += "\r\n";
}

/// Writes down everything that the parser says about a stream of messages, to compare two parses.
/// Messages must have parse(bytes, told) → Progress; size(); body() → BodyDecoder; fault();
/// is_last(); reset().
template <class Messages>
class Connection {
public:
    explicit Connection(Messages messages) : messages_(std::move(messages)) {}

    void feed(std::string_view piece) {
        buffer_.append(piece);
        while (!closed_ && (in_body_ ? read_body() : read_head())) {
        }
    }

    std::string end() {
        if (!closed_ && in_body_ && body_.end() == Progress::fault) tell_fault(body_.fault());
        return told_;
    }

private:
    bool read_head() {
        const Progress progress = messages_.parse(buffer_, told_);
        if (progress == Progress::fault) tell_fault(messages_.fault());
        if (progress != Progress::done) return false;
        body_ = messages_.body();
        closes_ = messages_.is_last();
        buffer_.erase(0, messages_.size());
        messages_.reset();
        return in_body_ = true;
    }

    bool read_body() {
        const auto step = body_.next(buffer_);
        told_ += step.data;
        buffer_.erase(0, step.consumed);
        if (step.progress == Progress::more) return step.consumed > 0;
        if (step.progress == Progress::fault) tell_fault(body_.fault());
        closed_ = closed_ || closes_;
        in_body_ = false;
        return !buffer_.empty();
    }

    void tell_fault(Fault fault) {
        require(fault != Fault::none, "a fault has a name");
        told_.append(" fault ").append(name_of(fault));
        closed_ = true;
    }

    Messages messages_;
    std::string buffer_;
    std::string told_;
    BodyDecoder body_;
    bool in_body_ = false;
    bool closes_ = false;
    bool closed_ = false;
};

/// Parses the bytes as a whole, byte by byte and in pieces of many sizes. All results must be
/// equal.
template <class Messages>
void require_same_however_split(std::string_view raw, Messages (*make)()) {
    const auto told = [&](std::uint64_t piece_max) {
        Connection<Messages> connection(make());
        Random random(raw.size() + piece_max);
        for (std::string_view left = raw; !left.empty();) {
            const std::size_t size = piece_max == 0 ? left.size() : 1 + random.below(piece_max);
            connection.feed(left.substr(0, size));
            left.remove_prefix(std::min(size, left.size()));
        }
        return connection.end();
    };
    const std::string whole = told(0);
    for (const std::uint64_t piece_max : {1U, 7U, 40U})
        require(told(piece_max) == whole, "any split gives the same result");
}

}  // namespace turnpike::http::fuzz
