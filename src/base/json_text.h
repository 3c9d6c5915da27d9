// Writes text as a JSON string (RFC 8259). The output is always valid UTF-8: each input byte that
// is not part of a well-formed sequence becomes U+FFFD.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace turnpike {

/// Appends `text` to `out`, escaped and in quotes.
void append_json_string(std::string& out, std::string_view text);

/// Appends these pieces of text as one JSON string. No piece may end within a UTF-8 character.
void append_json_string(std::string& out, std::span<const std::string_view> pieces);

}  // namespace turnpike
