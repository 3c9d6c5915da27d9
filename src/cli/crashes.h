// `turnpike crashes`: the gate's /-/crashes for people.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "terminal/table.h"

namespace turnpike {

/// Of what /-/crashes answered.
[[nodiscard]] std::expected<std::string, std::string> crashes_text(std::string_view json,
                                                                   TextStyle);

/// Of what /-/crashes/ID answered: everything, the log at the end.
[[nodiscard]] std::expected<std::string, std::string> crash_text(std::string_view json, TextStyle);

/// What /-/crashes, or /-/crashes/ID, would answer, from the folder of a gate that does not run.
/// Nothing: there is no report.
[[nodiscard]] std::optional<std::string> earlier_crashes(const std::string& folder,
                                                         const std::optional<std::string>& id);

}  // namespace turnpike
