// What several tests of the engine begin with: pools that prove their workers or distrust failing
// lanes, and lanes whose workers died.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/core/gate.h"

namespace turnpike::test {

/// A pool that proves its workers. A second crash of a lane within 10 minutes is one too many.
[[nodiscard]] inline PoolSettings proving(std::uint32_t lanes, ProofKind kind = ProofKind::fixed) {
    return {.lanes = lanes,
            .crash_limit = 2,
            .proof = kind,
            .proof_every = 10min,
            .proof_timeout = 1min};
}

inline void prove_all(Gate& gate) { gate.tell(ProveAsked{PoolId{0}}); }

/// Two lanes. Three failures in a row are too many; a lane then rests about 10 s, 20 s, 40 s.
[[nodiscard]] inline PoolSettings distrusting(ProofKind proof = ProofKind::none) {
    return {.lanes = 2,
            .restart_delay_min = 10s,
            .restart_delay_max = 40s,
            .fail_streak = 3,
            .proof = proof};
}

/// Lets the lane's worker die and its successor come up.
inline void replace_worker(Gate& gate, std::uint64_t lane) {
    gate.dies(lane);
    gate.pass(1s);
    gate.comes_up(lane);
}

/// Opens the gate and lets lane 1 fail. The pool's `crash_limit` must be 2.
inline void fail_lane_1(Gate& gate) {
    gate.open();
    gate.dies(1);
    gate.pass(1s);
    gate.dies(1);
    ASSERT_EQ(gate.state(1), LaneState::failed);
}

}  // namespace turnpike::test
