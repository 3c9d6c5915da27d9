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

/// The lane that the text names; nothing: it is none of those `lanes`.
[[nodiscard]] std::optional<std::size_t> lane_of(std::string_view text, std::size_t lanes);

struct WantedLines {
    static constexpr std::size_t lines_max = LaneLog::lines_kept_max;

    std::uint64_t after = 0;
    std::size_t lines = 200;
};

/// Of "after=12&lines=100", each of which may be missing; nothing: anything else.
[[nodiscard]] std::optional<WantedLines> wanted_lines(std::string_view query);

/// `log`: nullptr if the lane keeps none, as nothing is known of what an attached worker prints.
[[nodiscard]] std::string lane_log_page(std::size_t lane, const LaneLog* log,
                                        const WantedLines& wanted);

/// Newest first, without their logs.
[[nodiscard]] std::string crashes_page(const RecentCrashes& crashes);

}  // namespace turnpike
