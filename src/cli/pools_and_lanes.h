// The pools and lanes of a running gate. If a command names one that does not exist, its message
// lists those that do.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/running_gate.h"

namespace turnpike {

struct PoolsAndLanes {
    std::vector<std::string> pools;
    std::size_t lanes = 0;  // numbered from 0
};

/// Reads the pools and lanes from what /-/status answered.
[[nodiscard]] std::expected<PoolsAndLanes, std::string> pools_and_lanes_in(
    std::string_view status_json);

/// Asks a running gate for its pools and lanes.
[[nodiscard]] std::expected<PoolsAndLanes, CommandError> ask_pools_and_lanes(
    const std::optional<std::string>& gate);

/// True if the word has one to nine digits and nothing else. The lane itself may not exist.
[[nodiscard]] bool is_lane_number(std::string_view word);

/// Returns nullopt if the lane exists, or a message such as "there is no lane 7; there are lanes 0
/// to 3".
[[nodiscard]] std::optional<std::string> objection_to_lane(std::string_view word,
                                                           const PoolsAndLanes& known);

/// Does the same for a pool. The message lists the lanes too, since some commands take a pool or a
/// lane.
[[nodiscard]] std::optional<std::string> objection_to_pool(std::string_view word,
                                                           const PoolsAndLanes& known);

/// Do the same after asking a running gate for its pools and lanes.
[[nodiscard]] std::optional<CommandError> check_lane(const std::optional<std::string>& gate,
                                                     std::string_view word);
[[nodiscard]] std::optional<CommandError> check_pool(const std::optional<std::string>& gate,
                                                     std::string_view word);

}  // namespace turnpike
