// One run: the real engine in a simulated world.
//
//   workload and faults ──▶ calm: every accepted job ends ──▶ healed: every lane serves
//                       └─▶ (with a shutdown in the plan) the engine leaves, once
//
// The same plan gives the same run, to the bit, with every compiler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/coverage.h"
#include "sim/invariants.h"
#include "sim/plan.h"
#include "sim/trace.h"

namespace turnpike::sim {

struct RunResult {
    std::uint64_t hash = 0;    // of the whole trace
    std::uint64_t events = 0;  // that the engine handled
    std::optional<Violation> violation;
    Coverage coverage;
    std::string trace;  // with Tracing::on
};

[[nodiscard]] RunResult run_plan(const Plan& plan, Tracing tracing);

}  // namespace turnpike::sim
