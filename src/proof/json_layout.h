// Lays out JSON for people: short values on one line, long ones over several lines, lists of
// numbers filled like a paragraph. Every literal stays as it was written.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// `json` must be valid. The result ends with a newline.
[[nodiscard]] std::string laid_out(std::string_view json);

}  // namespace turnpike
