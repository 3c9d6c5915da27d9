// A plan: everything that is decided before a run begins. The same scenario and seed make the same
// plan. Leaving stimuli out changes nothing about the others.
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
    std::uint32_t native = 0;  // as in Scenario
    Settings settings{};
    Duration calm_at = 60s;  // end of faults and arrivals, from the opening; a multiple of `grain`
    Duration grain = 1ns;    // everything in the world happens at multiples of this
    std::vector<ReloadKind> reload_kinds{};  // the usual kind of each pool
    std::vector<Stimulus> stimuli{};         // in order of time

    [[nodiscard]] std::uint64_t lanes() const;
    [[nodiscard]] PoolId pool_of(LaneId lane) const;
    [[nodiscard]] const PoolSettings& settings_of(LaneId lane) const;
    /// True if the workers of the lane speak frames, and say themselves how many jobs they take. All
    /// others, and all attached workers, speak HTTP.
    [[nodiscard]] bool is_native(LaneId lane) const;
    [[nodiscard]] bool has_shutdown() const;
    [[nodiscard]] Quality quality_of(Generation generation) const;
    /// Returns a time longer than any chain of waits that these settings allow in a world without
    /// faults.
    [[nodiscard]] Duration patience() const;
};

/// The last stimulus comes this long before the calm, so that no grain rounds it into the calm.
inline constexpr Duration quiet_before_calm = 50ms;

[[nodiscard]] Plan make_plan(const Scenario& scenario, std::uint64_t seed);

/// Returns the same plan with only the stimuli of these ids.
[[nodiscard]] Plan with_only(Plan plan, std::span<const std::uint32_t> ids);

/// Returns the generation that a reload stimulus brings. Later stimuli bring later generations.
[[nodiscard]] constexpr Generation generation_of(std::uint32_t stimulus) {
    return Generation{stimulus + 1000};
}

// The parts of make_plan. Each has its own random numbers.
void draw_settings(const Scenario& scenario, Random random, Plan& plan);
void add_workload(const Scenario& scenario, Random random, Plan& plan);
void add_faults(const Scenario& scenario, Random random, Plan& plan);

}  // namespace turnpike::sim
