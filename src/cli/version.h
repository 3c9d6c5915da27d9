// `turnpike version`, and the number for whoever needs it.
#pragma once

#include <string_view>

namespace turnpike {

/// "0.1.0"
[[nodiscard]] std::string_view version();

}  // namespace turnpike
