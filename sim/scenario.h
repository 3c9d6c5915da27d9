// Scenarios: a workload and its faults, as a table of numbers. A scenario and a seed make a plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/stimulus.h"

namespace turnpike::sim {

/// A set of enumerators.
template <class Enum>
struct Among {
    std::uint32_t bits = 0;

    constexpr Among() = default;
    template <class... Values>
    constexpr explicit Among(Enum first, Values... rest) : bits(bit(first)) {
        ((bits |= bit(rest)), ...);
    }
    static constexpr std::uint32_t bit(Enum value) {
        return 1U << static_cast<std::uint32_t>(value);
    }
    [[nodiscard]] constexpr bool has(Enum value) const { return (bits & bit(value)) != 0; }
};

/// All numbers are percentages of jobs, pools or seeds, except those named `_max`.
struct Scenario {
    std::string_view name;
    std::string_view about;

    // the workload
    std::uint32_t jobs_max = 100;
    std::uint32_t bursts = 30;
    std::uint32_t priorities = 20;
    std::uint32_t streams = 10;
    std::uint32_t asides = 3;
    std::uint32_t wanted = 5;
    std::uint32_t leaves = 2;
    std::uint32_t deletes = 2;
    std::uint32_t slow_uploads = 5;
    std::uint32_t timeouts = 3;
    std::uint32_t trouble = 0;  // jobs that end in one of `endings`
    Among<Ending> endings{};
    std::uint32_t long_runs = 4;
    std::uint32_t blocks = 3;   // jobs that block their worker
    std::uint32_t resends = 3;  // jobs that are the same request as another
    std::uint32_t floods = 0;   // clusters of jobs that are mostly the same request
    std::uint32_t twins = 3;    // jobs that are as long as another, with other content

    std::uint32_t clients_max = 1;
    std::uint32_t greedy = 0;    // clusters that come from client 1 alone
    std::uint32_t culprits = 0;  // jobs in trouble that come from client 1
    std::uint32_t limited = 0;   // clients with limits of their own
    std::uint32_t large = 0;     // jobs of more than a MiB

    // the settings
    std::uint32_t tight = 10;
    std::uint32_t slots = 40;
    std::uint32_t batches = 25;
    std::uint32_t attached = 8;
    std::uint32_t fixed_proofs = 35;
    std::uint32_t agreeing = 15;
    std::uint32_t many_lanes = 8;
    std::uint32_t single_lane = 0;
    std::uint32_t no_retry = 12;  // pools with retry = false
    std::uint32_t native =
        25;  // pools whose workers speak frames, say their capacity, and may bring an example; the others speak HTTP

    // the faults
    Among<CurseKind> curses{};
    std::uint32_t curses_max = 0;
    Among<BlowKind> blows{};
    std::uint32_t blows_max = 0;
    Among<OrderKind> orders{};
    std::uint32_t orders_max = 0;
    std::uint32_t reloads_max = 0;
    std::uint32_t saves_max = 0;  // more reloads shortly after each reload
    std::uint32_t shell_max = 0;
    std::uint32_t shutdowns = 0;

    bool is_calm = false;  // no faults and wide limits, so a worker must answer every job
};

[[nodiscard]] std::span<const Scenario> all_scenarios();
/// Returns nullptr if no scenario has this name.
[[nodiscard]] const Scenario* find_scenario(std::string_view name);
/// Returns the scenario that this seed runs if none is named.
[[nodiscard]] const Scenario& scenario_of(std::uint64_t seed);

}  // namespace turnpike::sim
