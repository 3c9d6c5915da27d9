// Attempts that outlive job_timeout and cancel_grace, and their neighbours (cancel.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// One lane. Jobs may run for 10 s, then have 5 s to obey a cancel.
PoolSettings pool_with(CancelPolicy policy, std::uint32_t slots = 1) {
    return {.slots = slots, .job_timeout = 10s, .cancel = policy, .cancel_grace = 5s};
}

/// Two slots. `stuck` is overdue, `neighbour` was sent 12 s later, and a third job waits.
struct StuckBesideANeighbour {
    StuckBesideANeighbour() : gate(pool_with(CancelPolicy::close, 2)) {
        gate.open();
        stuck = gate.queue_job();
        gate.pass(12s);
        neighbour = gate.queue_job();
        gate.pass(3s);
        waiting = gate.queue_job();
    }
    Gate gate;
    JobId stuck;
    JobId neighbour;
    JobId waiting;
};

TEST(StuckAttempt, LetsTheNeighboursOfAStuckAttemptFinish) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    EXPECT_EQ(gate.reason(0), Reason::job_stuck);
    EXPECT_TRUE(gate.is_running(scene.neighbour));
    EXPECT_TRUE(gate.is_queued(scene.waiting)) << "it takes nothing more";
    gate.ends(scene.neighbour);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "kill w0 job_stuck"));
    gate.dies(0);
    gate.comes_up(0);
    EXPECT_TRUE(gate.is_running(scene.waiting));
}

TEST(StuckAttempt, KillsWhenTheNeighboursAreStuckToo) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    gate.pass(7s);
    EXPECT_EQ(gate.ended(scene.neighbour), EndReason::ran_too_long);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 ran_too_long", "cancel j1 on w0"));
    gate.pass(5s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

TEST(StuckAttempt, WaitsForAnAsideBesideAStuckAttemptToo) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    gate.queue_job();
    gate.pass(12s);
    const JobId aside = gate.queue_job({.is_aside = true});
    gate.pass(3s);
    EXPECT_THAT(gate.acts<KillWorker>(), IsEmpty());
    gate.ends(aside);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "kill w0 job_stuck"));
}

TEST(StuckAttempt, TrustsAWorkerAgainWhoseStuckAttemptEndedAfterAll) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    gate.ends(scene.stuck, Verdict::cancelled);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j2 to w0"));
    EXPECT_EQ(gate.state(0), LaneState::busy);
}

TEST(StuckAttempt, ProvesAWorkerWhoseStuckAttemptEndedAfterAll) {
    PoolSettings settings = pool_with(CancelPolicy::close, 2);
    settings.proof = ProofKind::fixed;
    Gate gate(settings);
    gate.open();
    const JobId stuck = gate.queue_job();
    gate.pass(12s);
    const JobId neighbour = gate.queue_job();
    gate.pass(3s);
    gate.ends(stuck);
    EXPECT_TRUE(gate.is_queued(gate.queue_job()));
    gate.ends(neighbour);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "prove w0"));
}

/// The overdue attempt ends after all, but meanwhile somebody else wants the worker to go.
TEST(StuckAttempt, StillStopsAWorkerThatWasDrainedWhileItsAttemptWasStuck) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    gate.drain(0);
    gate.ends(scene.stuck, Verdict::cancelled);
    gate.ends(scene.neighbour);
    EXPECT_THAT(gate.acts<StopWorker>(), SizeIs(1));
    EXPECT_EQ(gate.state(0), LaneState::draining);
}

TEST(StuckAttempt, StillStopsAWorkerThatWasReplacedWhileItsAttemptWasStuck) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.ends(scene.stuck, Verdict::cancelled);
    gate.ends(scene.neighbour);
    EXPECT_THAT(gate.acts<StopWorker>(), SizeIs(1));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 spread"));
}

TEST(StuckAttempt, StillReloadsInPlaceWhenTheStuckAttemptEndsAfterAll) {
    Gate gate(pool_with(CancelPolicy::close, 2));
    gate.open();
    const JobId stuck = gate.queue_job();
    gate.pass(12s);
    const JobId neighbour = gate.queue_job();
    gate.pass(3s);
    gate.reload_in_place(2);
    gate.ends(stuck);
    gate.ends(neighbour);
    EXPECT_THAT(gate.acts<StopWorker>(), SizeIs(1));
}

TEST(StuckAttempt, BlamesNobodyForTheKillOfAStuckWorker) {
    StuckBesideANeighbour scene;
    Gate& gate = scene.gate;
    gate.exits(gate.current(0));
    EXPECT_TRUE(gate.is_queued(scene.neighbour)) << "it shared the worker, and is run again";
    EXPECT_EQ(gate.pool().counts.failed, 0U);
}

}  // namespace
}  // namespace turnpike
