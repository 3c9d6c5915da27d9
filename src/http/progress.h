// How far along a message is.
#pragma once

#include <cstdint>

namespace turnpike::http {

enum class Progress : std::uint8_t { more, done, fault };

/// What a reader (request_reader.h, response_reader.h) finds next in the bytes that have come.
enum class Found : std::uint8_t {
    more,    // nothing: more bytes must come first
    head,    // a head
    data,    // a piece of a body
    whole,   // the end of the message
    broken,  // a breach; the reader says which fault
};

}  // namespace turnpike::http
