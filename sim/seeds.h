// What people write to name runs: ranges of seeds, stimuli to keep, files of regressions.
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

/// Both ends belong to it.
struct SeedRange {
    std::uint64_t first = 1;
    std::uint64_t last = 1;
    friend bool operator==(const SeedRange&, const SeedRange&) = default;
};

/// One run to do.
struct RunName {
    const Scenario* scenario = nullptr;
    std::uint64_t seed = 0;
    std::optional<Ids> keep{};  // none: all stimuli
};

/// `A..B`, or one seed. Errors are sentences for people.
[[nodiscard]] std::expected<SeedRange, std::string> parse_seeds(std::string_view text);
/// `3,17,42`, rising; empty: no stimulus at all.
[[nodiscard]] std::expected<Ids, std::string> parse_keep(std::string_view text);
/// Lines `scenario seed [keep=3,17]  # why`; empty lines and comments are skipped.
[[nodiscard]] std::expected<std::vector<RunName>, std::string> parse_regressions(
    std::string_view text);

}  // namespace turnpike::sim
