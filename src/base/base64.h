// Bytes as text (RFC 4648, section 4), for JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

[[nodiscard]] std::string base64_of(std::string_view bytes);

/// Nothing: it is no base64, or not padded.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace turnpike
