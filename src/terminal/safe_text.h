// Makes text from clients and workers safe to print in a terminal, and measures it in the
// terminal's columns. A character takes one or two columns. Functions that measure or cut take
// sanitized text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

/// Returns one line of UTF-8. Replaces by "?" whatever a terminal could obey (control characters,
/// escapes, a change of the writing direction) and whatever is not UTF-8.
[[nodiscard]] std::string sanitized(std::string_view text);

/// Returns how many columns the text takes. May count too many, never too few.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Returns as many characters as fit into that many columns.
[[nodiscard]] std::string first_columns(std::string_view text, std::size_t columns);

/// Does the same, but ends in "..." if something is left out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// Returns the text with blanks behind it, up to that many columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

/// Returns "0-3, 5" for rising numbers.
[[nodiscard]] std::string ranges_text(const std::vector<std::size_t>& numbers);

}  // namespace turnpike
