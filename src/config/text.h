// Shows texts of the configuration in messages, and checks texts that go into headers and file
// names.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// Returns the text in quotes, on one line, cut if it is long.
[[nodiscard]] std::string quoted(std::string_view);

/// True if TOML accepts the text as a key without quotes.
[[nodiscard]] bool is_bare_key(std::string_view);

[[nodiscard]] bool has_control_characters(std::string_view);

}  // namespace turnpike
