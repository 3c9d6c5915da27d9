// Text of strangers (clients, workers) as people see it in a terminal: sanitized, and measured in the
// terminal's columns, of which a character takes one or two.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

/// One line of UTF-8: whatever a terminal could obey (control characters, escapes, a change of the
/// writing direction), or that is no UTF-8, becomes "?".
[[nodiscard]] std::string sanitized(std::string_view text);

/// How many columns it takes; never too few.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// As many characters as fit into that many columns.
[[nodiscard]] std::string first_columns(std::string_view text, std::size_t columns);

/// The same, with "..." at the end where something is left out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

/// With blanks behind it, up to that many columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);

/// "0-3, 5" of rising numbers.
[[nodiscard]] std::string ranges_text(const std::vector<std::size_t>& numbers);

}  // namespace turnpike
