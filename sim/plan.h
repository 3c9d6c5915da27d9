// A plan: all that is decided before a run begins. The same scenario and seed make the same plan;
// leaving stimuli out changes nothing about the others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/settings.h"
#include "sim/scenario.h"
#include "sim/stimulus.h"

namespace turnpike::sim {

struct Plan {
    std::string_view scenario;
    std::uint64_t seed = 0;
    bool is_calm = false;      // as in Scenario
    std::uint32_t native = 0;  // likewise
    Settings settings{};
    Duration calm_at =
        60s;               // from the opening: faults and arrivals are over; a multiple of `grain`
    Duration grain = 1ns;  // everything in the world happens at multiples of this
    std::vector<ReloadKind> reload_kinds{};  // of each pool, for the most part
    std::vector<Stimulus> stimuli{};         // by time

    [[nodiscard]] std::uint64_t lanes() const;
    [[nodiscard]] PoolId pool_of(LaneId lane) const;
    [[nodiscard]] const PoolSettings& settings_of(LaneId lane) const;
    /// Whether its workers say for themselves what they take.
    [[nodiscard]] bool is_native(LaneId lane) const;
    [[nodiscard]] bool has_shutdown() const;
    [[nodiscard]] Quality quality_of(Generation generation) const;
    /// Longer than any chain of waits that these settings allow a world without faults.
    [[nodiscard]] Duration patience() const;
};

/// The last stimulus comes this long before the calm: no grain rounds it into the calm.
inline constexpr Duration quiet_before_calm = 50ms;

[[nodiscard]] Plan make_plan(const Scenario& scenario, std::uint64_t seed);

/// The same plan with only the stimuli of these ids.
[[nodiscard]] Plan with_only(Plan plan, std::span<const std::uint32_t> ids);

/// The generation that a reload stimulus brings; grows with time.
[[nodiscard]] constexpr Generation generation_of(std::uint32_t stimulus) {
    return Generation{stimulus + 1000};
}

// The parts of make_plan, each with its own luck.
void draw_settings(const Scenario& scenario, Random random, Plan& plan);
void add_workload(const Scenario& scenario, Random random, Plan& plan);
void add_faults(const Scenario& scenario, Random random, Plan& plan);

}  // namespace turnpike::sim
