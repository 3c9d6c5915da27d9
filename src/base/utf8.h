// Which bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace turnpike {

/// U+FFFD, for what is none.
inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

/// Bytes of the character at the start of `text`, if it is well formed and takes more than one;
/// 0: it is ASCII, cut off, or no character.
[[nodiscard]] std::size_t utf8_size(std::string_view text);

/// All of it is.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace turnpike
