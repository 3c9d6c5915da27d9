// Makes the text of config/turnpike.example.toml from the table of keys.
#pragma once

#include <string>

namespace turnpike {

/// Returns the text. A default value stands behind a "#" without a space; "# " begins a
/// description.
[[nodiscard]] std::string example_text();

}  // namespace turnpike
