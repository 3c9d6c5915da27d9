// Texts of the file's author in messages, and texts that may go on into headers and file names.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// In quotes, on one line, cut where it gets long.
[[nodiscard]] std::string quoted(std::string_view);

/// Whether TOML takes it for a key without quotes.
[[nodiscard]] bool is_bare_key(std::string_view);

[[nodiscard]] bool has_control_characters(std::string_view);

}  // namespace turnpike
