// `turnpike version`, and the version for other code.
#pragma once

#include <string_view>

namespace turnpike {

/// Returns "0.1.0".
[[nodiscard]] std::string_view version();

}  // namespace turnpike
