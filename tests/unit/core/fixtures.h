// What several tests of the engine begin with: pools that prove their workers or distrust failing
// lanes, and lanes whose workers died.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

/// A lane fails when it is charged for the first time, unless it is the last one.
[[nodiscard]] inline PoolSettings strict(std::uint32_t lanes, std::uint32_t slots = 1) {
    return {.lanes = lanes, .slots = slots, .crash_limit = 1};
}

/// Checks that the lane of a strict pool has not been charged.
inline void expect_not_charged(Gate& gate, std::uint64_t lane) {
    EXPECT_NE(gate.state(lane), LaneState::failed) << "lane " << lane;
}

/// Lets the lane's worker die and its successor come up.
inline void replace_worker(Gate& gate, std::uint64_t lane) {
    gate.dies(lane);
    gate.pass(1s);
    gate.comes_up(lane);
}

/// Runs a job on this lane that may go to any lane, and returns it. The jobs that it has to send to
/// other lanes meanwhile are answered.
inline JobId job_on(Gate& gate, std::uint64_t lane, const Request& request = {}) {
    std::vector<JobId> others;
    JobId job = gate.queue_job(request);
    while (gate.is_running(job) && gate.lane_of(job) != LaneId{lane}) {
        others.push_back(job);
        job = gate.queue_job(request);
    }
    EXPECT_TRUE(gate.is_running(job)) << "lane " << lane << " takes nothing";
    for (const JobId other : others) gate.ends(other);
    return job;
}

/// Lets the lane's worker die, and returns how long the lane waits for its next worker, which does
/// not come up yet.
inline Duration delay_after_death(Gate& gate, std::uint64_t lane) {
    gate.dies(lane);
    const Instant died = gate.now();
    EXPECT_EQ(gate.state(lane), LaneState::backoff);
    while (gate.current(lane).is_none() && gate.next_deadline() != never)
        gate.pass(gate.next_deadline() - gate.now());
    return gate.now() - died;
}

/// Checks the delay up to its jitter.
inline void expect_about(Duration delay, Duration plain) {
    EXPECT_GE(delay, plain * 3 / 4);
    EXPECT_LE(delay, plain * 5 / 4);
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
