// What a worker's last words tell of its model's mistake.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/lane_log.h"

namespace turnpike {

/// The traceback that this writer printed last, with all that led to it; without one the last lines of
/// its stderr. Lines with newlines between; empty: it printed nothing there.
[[nodiscard]] std::string last_error(const LaneLog& log, std::uint64_t writer);

/// The files that a traceback names, in its order, each once: one of them is where it is mended.
[[nodiscard]] std::vector<std::string> files_in_traceback(std::string_view text);

}  // namespace turnpike
