// How people name runs: ranges of seeds, stimuli to keep, files of regressions.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"
#include "sim/shrink.h"

namespace turnpike::sim {

/// Both ends are included.
struct SeedRange {
    std::uint64_t first = 1;
    std::uint64_t last = 1;
    friend bool operator==(const SeedRange&, const SeedRange&) = default;
};

/// Names one run.
struct RunName {
    const Scenario* scenario = nullptr;
    std::uint64_t seed = 0;
    std::optional<Ids> keep{};  // empty if all stimuli are kept
};

/// Parses `A..B`, or one seed. All errors here are sentences for people.
[[nodiscard]] std::expected<SeedRange, std::string> parse_seeds(std::string_view text);
/// Parses `3,17,42`, in rising order. An empty text keeps no stimulus.
[[nodiscard]] std::expected<Ids, std::string> parse_keep(std::string_view text);
/// Parses lines `scenario seed [keep=3,17]  # why`. Skips empty lines and comments.
[[nodiscard]] std::expected<std::vector<RunName>, std::string> parse_regressions(
    std::string_view text);

}  // namespace turnpike::sim
