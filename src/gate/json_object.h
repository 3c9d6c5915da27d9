// Checks JSON that others wrote before it becomes part of a page.
#pragma once

#include <string_view>

namespace turnpike {

/// True if the whole text is one JSON object.
[[nodiscard]] bool is_json_object(std::string_view text);

}  // namespace turnpike
