// The pools and lanes of a running gate, so that who asks for another one learns which there are.
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

/// Of /-/status.
[[nodiscard]] std::expected<PoolsAndLanes, std::string> pools_and_lanes_in(
    std::string_view status_json);

/// A number, as far as its looks go: of few digits.
[[nodiscard]] bool is_lane_number(std::string_view word);

/// "there is no lane 7; there are lanes 0 to 3"; nothing: it is there.
[[nodiscard]] std::optional<std::string> objection_to_lane(std::string_view word,
                                                           const PoolsAndLanes& known);

/// The same of a pool; the lanes are named too, as some commands take either.
[[nodiscard]] std::optional<std::string> objection_to_pool(std::string_view word,
                                                           const PoolsAndLanes& known);

/// The same, of the gate of that name, which is asked.
[[nodiscard]] std::optional<CommandError> check_lane(const std::optional<std::string>& gate,
                                                     std::string_view word);
[[nodiscard]] std::optional<CommandError> check_pool(const std::optional<std::string>& gate,
                                                     std::string_view word);

}  // namespace turnpike
