// Bytes as text (RFC 4648, section 4), for JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

[[nodiscard]] std::string base64_of(std::string_view bytes);

/// Returns the decoded bytes, or nullopt if the text is not base64 with its padding.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace turnpike
