// The pages of lanes' logs and of crashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "telemetry/lane_log.h"
#include "telemetry/recent_crashes.h"

namespace turnpike {

/// Returns the lane with this number, or nullopt if the text is not a number below `lanes`.
[[nodiscard]] std::optional<std::size_t> lane_of(std::string_view text, std::size_t lanes);

struct WantedLines {
    static constexpr std::size_t lines_max = LaneLog::lines_kept_max;

    std::uint64_t after = 0;
    std::size_t lines = 200;
};

/// Reads a query such as "after=12&lines=100", in which either part may be missing. Returns nullopt
/// for any other query.
[[nodiscard]] std::optional<WantedLines> wanted_lines(std::string_view query);

/// Returns the lines as JSON. `log` is nullptr if the lane has no log: we don't see the output of
/// attached workers.
[[nodiscard]] std::string lane_log_page(std::size_t lane, const LaneLog* log,
                                        const WantedLines& wanted);

/// Lists the crashes, newest first, without their logs.
[[nodiscard]] std::string crashes_page(const RecentCrashes& crashes);

}  // namespace turnpike
