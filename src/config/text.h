// Shows texts of the configuration in messages, and checks texts that go into headers and file
// names.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace turnpike {

/// Returns the text in quotes, on one line, cut if it is long.
[[nodiscard]] std::string in_quotes(std::string_view);

/// True if TOML accepts the text as a key without quotes.
[[nodiscard]] bool is_bare_key(std::string_view);

[[nodiscard]] bool has_control_characters(std::string_view);

/// Returns what is wrong with a text that must be one line of at most `max` bytes, or "" if nothing
/// is. The message follows the text that it is about.
[[nodiscard]] std::string problem_with_line(std::string_view text, Bytes max);

}  // namespace turnpike
