#include "core/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// ── drain ────────────────────────────────────────────────────────────────────────────────────────

TEST(Drain, StopsAnIdleLane) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    EXPECT_THAT(gate.turn(), ElementsAre("stop w0 drain_asked", "lane 0 draining drain_asked"));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::drained);
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Drain, LetsABusyLaneFinish) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.drain(0);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 draining drain_asked"));
    EXPECT_EQ(gate.lane_of(gate.queue_job()), LaneId{1}) << "it takes nothing more";
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 drain_asked"));
}

TEST(Drain, StopsALoadingWorkerAtOnce) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 drain_asked"));
}

TEST(Drain, CallsOffARestart) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.dies(0);
    gate.drain(0);
    EXPECT_EQ(gate.state(0), LaneState::drained);
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Drain, KeepsAFailedLaneFromTryingAgain) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.drain(0);
    EXPECT_EQ(gate.state(0), LaneState::drained);
    gate.pass(1h);
    EXPECT_TRUE(gate.current(0).is_none());
    gate.resume(0);
    EXPECT_FALSE(gate.current(0).is_none());
}

TEST(Drain, LetsTheWorkerOfALaneThatHadFailedServeOnWhenResumed) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    const JobId suspect = test::job_on(gate, 0);
    test::replace_worker(gate, 0);
    const JobId aboard = gate.queue_job({.lane = 0});
    gate.ends(suspect);
    ASSERT_EQ(gate.state(0), LaneState::failed) << "charged, while its new worker has a job";
    gate.drain(0);
    gate.resume(0);
    gate.ends(aboard);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Drain, ChangesNothingOnALaneThatIsQuarantinedOrUnknown) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.tell(GpuLost{LaneId{0}});
    gate.drain(0);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.drain(7), gate.resume(7), gate.restart(7);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.drain(1);
    gate.drain(1);
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Drain, DoesNotCountTheCrashOfADrainedLane) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.queue_job({.is_aside = true});
    gate.drain(0);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::drained);
    gate.resume(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g1"));
}

// ── resume ───────────────────────────────────────────────────────────────────────────────────────

TEST(Drain, IsUndoneByResume) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    gate.dies(0);
    gate.resume(0);
    EXPECT_THAT(gate.turn(), ElementsAre("start w1 on 0 with g1", "lane 0 starting"));
    gate.comes_up(0);
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
}

TEST(Drain, LetsAWorkerThatIsStillFinishingServeOnWhenResumed) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.drain(0);
    gate.resume(0);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 ready"));
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
    gate.ends(job);
    EXPECT_THAT(gate.acts<StopWorker>(), IsEmpty());
}

TEST(Drain, ProvesAWorkerBeforeItServesOn) {
    Gate gate({.lanes = 1, .slots = 2, .proof = ProofKind::fixed});
    gate.open();
    const JobId job = gate.queue_job();
    gate.drain(0);
    gate.resume(0);
    EXPECT_TRUE(gate.is_queued(gate.queue_job()));
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w0"));
}

TEST(Drain, StartsAnewWhenResumedWhileTheOldWorkerStops) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    gate.resume(0);
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "the old one is still there";
    EXPECT_EQ(gate.state(0), LaneState::draining);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g1"));
}

TEST(Drain, StillRetiresAWorkerThatHadToGoAnyway) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.restart(0);
    gate.drain(0);
    gate.resume(0);
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 restart_asked"));
}

TEST(Drain, DoesNotResumeAWorkerWithAStuckAttempt) {
    Gate gate({.lanes = 1,
               .slots = 3,
               .job_timeout = 10s,
               .cancel = CancelPolicy::close,
               .cancel_grace = 5s});
    gate.open();
    gate.queue_job();
    gate.pass(12s);
    const JobId neighbour = gate.queue_job();
    gate.drain(0);
    gate.pass(3s);
    gate.resume(0);
    EXPECT_EQ(gate.reason(0), Reason::job_stuck);
    EXPECT_TRUE(gate.is_queued(gate.queue_job()));
    gate.ends(neighbour);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "kill w0 job_stuck"));
}

TEST(Drain, DoesNotResumeCodeThatWasReplacedMeanwhile) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job({.lane = 1});
    gate.drain(1);
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    ASSERT_EQ(gate.pool().good, Generation{2});
    gate.resume(1);
    EXPECT_EQ(gate.reason(1), Reason::replaced);
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w1 replaced"));
}

/// A drain replaces an earlier hold. That hold must come back when the lane is resumed.
TEST(Drain, DoesNotResumeADoubtedWorkerWithoutItsProbe) {
    Gate gate({.lanes = 1, .slots = 3});
    gate.open();
    gate.leave_probes_to_me();
    const JobId neighbour = gate.queue_job();
    gate.ends(gate.queue_job(), Verdict::broken);
    gate.drain(0);
    gate.resume(0);
    EXPECT_TRUE(gate.is_running(neighbour));
    EXPECT_EQ(gate.reason(0), Reason::link_doubted) << "no probe has answered yet";
    gate.pass(2s);
    gate.answers_probe(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::busy);
}

TEST(Drain, RevivesOnlyDrainedLanesByResume) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.resume(0);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "it is on";
    gate.dies(0);
    gate.resume(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

}  // namespace
}  // namespace turnpike
