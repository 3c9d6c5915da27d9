// Recognises UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace turnpike {

/// U+FFFD, which replaces bytes that are not UTF-8.
inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

/// Returns the size of the character at the start of `text` if it is well formed and takes more
/// than one byte. Returns 0 if it is ASCII, cut off, or not a character.
[[nodiscard]] std::size_t utf8_size(std::string_view text);

/// True if the whole text is valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace turnpike
