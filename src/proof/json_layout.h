// Lays out JSON for people: short values on one line, long ones over several lines, lists of
// numbers filled like a paragraph. Every literal stays as it was written.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// Returns the laid out text, which ends with a newline. `json` must be valid.
[[nodiscard]] std::string laid_out(std::string_view json);

}  // namespace turnpike
