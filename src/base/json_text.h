// Text as a JSON string (RFC 8259). What comes out is always valid UTF-8, whatever went in: each
// byte that belongs to no well-formed sequence becomes U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// Appends `text` to `out`, escaped and in quotes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace turnpike
