// Finds the error of a model in what its worker printed last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/lane_log.h"

namespace turnpike {

/// Returns the last traceback that this writer printed, with the exceptions that caused it. If
/// there is no traceback, returns the last lines of its stderr. Lines are separated by newlines.
/// Empty if the writer printed nothing to stderr.
[[nodiscard]] std::string last_error(const LaneLog& log, std::uint64_t writer);

/// Returns the files that a traceback names, in its order, each once. The error is most likely
/// fixed in one of them.
[[nodiscard]] std::vector<std::string> files_in_traceback(std::string_view text);

}  // namespace turnpike
