// The text of config/turnpike.example.toml, made of the table of keys.
#pragma once

#include <string>

namespace turnpike {

/// Values that are defaults stand behind a "#" without a blank; "# " begins prose.
[[nodiscard]] std::string example_text();

}  // namespace turnpike
