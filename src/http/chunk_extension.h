// Whether what follows the size of a chunk is an extension, byte by byte:
//
//   *( ";" BWS name [ BWS "=" BWS ( token | quoted-string ) ] BWS )
//
// Nobody uses extensions, so they are dropped. They are still checked, because other programs may
// disagree about a malformed one, and then about where the chunk's data begins. (RFC 9112 allows
// blanks before ";" too. We allow them only within an extension, not right after the size.)
#pragma once

#include <cstdint>
#include <optional>

#include "http/chars.h"

namespace turnpike::http {

enum class ChunkExtension : std::uint8_t {
    before_name,  // after a ";"
    name,
    after_name,  // blanks
    before_value,
    value,
    quoted,
    escaped,  // after a backslash
    after_value,
};

/// Returns the state after this byte, or nullopt if the byte is not allowed there.
constexpr std::optional<ChunkExtension> next(ChunkExtension state, char c) {
    using enum ChunkExtension;
    const bool is_blank = c == ' ' || c == '\t';
    switch (state) {
        case before_name:
            if (is(token_char, c)) return name;
            return is_blank ? std::optional(before_name) : std::nullopt;
        case name:
            if (is(token_char, c)) return name;
            [[fallthrough]];
        case after_name:
            if (c == '=') return before_value;
            if (c == ';') return before_name;
            return is_blank ? std::optional(after_name) : std::nullopt;
        case before_value:
            if (is(token_char, c)) return value;
            if (c == '"') return quoted;
            return is_blank ? std::optional(before_value) : std::nullopt;
        case value:
            if (is(token_char, c)) return value;
            [[fallthrough]];
        case after_value:
            if (c == ';') return before_name;
            return is_blank ? std::optional(after_value) : std::nullopt;
        case quoted:
            if (c == '"') return after_value;
            if (c == '\\') return escaped;
            return is(value_char, c) ? std::optional(quoted) : std::nullopt;
        case escaped: return is(value_char, c) ? std::optional(quoted) : std::nullopt;
    }
    return std::nullopt;
}

/// True if the line may end here.
constexpr bool is_complete(ChunkExtension state) {
    using enum ChunkExtension;
    return state == name || state == after_name || state == value || state == after_value;
}

}  // namespace turnpike::http
