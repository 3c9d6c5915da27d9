// `turnpike crashes`: shows the gate's /-/crashes to people.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "terminal/table.h"

namespace turnpike {

/// Returns a table of the crashes in `json`, which is what /-/crashes answered.
[[nodiscard]] std::expected<std::string, std::string> crashes_text(std::string_view json,
                                                                   TextStyle);

/// Returns everything in `json`, which is what /-/crashes/ID answered. The log comes last.
[[nodiscard]] std::expected<std::string, std::string> crash_text(std::string_view json, TextStyle);

/// Returns what /-/crashes (or /-/crashes/ID if `id` is given) would answer, read from the folder
/// of a gate that does not run. Returns nullopt if there is no report.
[[nodiscard]] std::optional<std::string> earlier_crashes(const std::string& folder,
                                                         const std::optional<std::string>& id);

}  // namespace turnpike
