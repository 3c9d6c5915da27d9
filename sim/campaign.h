// Many runs on all cores. Runs share nothing, and results are combined in the order of the list, so
// the output does not depend on threads. A campaign ends at the first run of the list that fails,
// unless it is told to keep going.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/coverage.h"
#include "sim/invariants.h"
#include "sim/seeds.h"
#include "sim/world.h"

namespace turnpike::sim {

/// The runs to do, by index, so that a range of seeds needs no list in memory.
struct RunList {
    std::uint64_t count = 0;
    std::function<RunName(std::uint64_t)> at;
};

struct Failure {
    std::uint64_t index = 0;  // in the list
    Violation violation;
};

struct CampaignResult {
    std::uint64_t runs = 0;  // up to and including the first that failed; all if none failed
    std::uint64_t events = 0;
    std::vector<Failure> failures;      // by index
    std::vector<Coverage> coverage;     // of each scenario, in the order of the table
    std::vector<std::uint64_t> hashes;  // of each run; empty unless want_hashes
};

struct CampaignOptions {
    unsigned threads = 1;
    bool keep_going = false;
    bool want_hashes = false;
    std::function<void(std::uint64_t done)>
        progress{};  // called every 250 ms by the calling thread
};

[[nodiscard]] Plan plan_of(const RunName& name);
[[nodiscard]] CampaignResult run_all(const RunList& list, const CampaignOptions& options);

/// Returns the ids of the shortest history found that breaks the same invariant.
[[nodiscard]] Ids shortest_history(const RunName& name, const Violation& violation,
                                   const std::function<bool()>& may_go_on);

}  // namespace turnpike::sim
