// JSON as people like to read it: short things on one line, long ones broken, lists of numbers filled
// like a paragraph. Every literal stays as it was written.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

/// Of valid JSON. Ends with a newline.
[[nodiscard]] std::string laid_out(std::string_view json);

}  // namespace turnpike
