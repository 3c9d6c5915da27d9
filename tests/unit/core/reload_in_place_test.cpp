// Reloads where there is no memory for two workers (reload.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "core/reload.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::fail_lane_1;
using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

PoolSettings pool_of(std::uint32_t lanes, ProofKind proof = ProofKind::none) {
    return {.lanes = lanes, .slots = 2, .crash_limit = 2, .proof = proof};
}

TEST(ReloadInPlace, TriesOneLaneFirstAndThenTakesTheRest) {
    Gate gate(pool_of(3));
    gate.open();
    gate.reload_in_place(2);
    EXPECT_THAT(gate.turn(), ElementsAre("stop w0 replaced", "lane 0 draining replaced"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 replaced", "start w3 on 0 with g2"));
    EXPECT_EQ(gate.pool().good, Generation{1});
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w1 replaced", "stop w2 replaced"));
    EXPECT_EQ(gate.pool().good, Generation{2});
    gate.dies(1);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 1 with g2"));
    gate.dies(2);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("kill w2 replaced", "start w5 on 2 with g2", "reload g2 spread"));
}

TEST(ReloadInPlace, LetsTheJobsOfTheFirstLaneFinish) {
    Gate gate(pool_of(1));
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload_in_place(2);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 draining replaced"));
    const JobId next = gate.queue_job();
    EXPECT_TRUE(gate.is_queued(next)) << "a pause";
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 replaced"));
    gate.dies(0);
    gate.comes_up(0);
    EXPECT_TRUE(gate.is_running(next));
}

TEST(ReloadInPlace, PrefersTheLaneWithTheFewestAboard) {
    Gate gate(pool_of(3));
    gate.open();
    gate.queue_job({.lane = 0}), gate.queue_job({.lane = 0});
    gate.queue_job({.lane = 1});
    gate.queue_job({.lane = 2}), gate.queue_job({.lane = 2, .is_aside = true});
    gate.reload_in_place(2);
    EXPECT_EQ(gate.reason(1), Reason::replaced);
    EXPECT_EQ(gate.state(0), LaneState::busy);
    EXPECT_EQ(gate.state(2), LaneState::busy);
}

TEST(ReloadInPlace, PrefersALaneThatServesNothingNow) {
    Gate gate(pool_of(2));
    gate.open();
    gate.dies(1);
    ASSERT_EQ(gate.state(1), LaneState::backoff);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 1 with g2"))
        << "at once, whatever its delay";
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ReloadInPlace, StopsAWorkerThatStillLoadsTheOldCode) {
    Gate gate(pool_of(2));
    gate.tell(GateOpened{});
    gate.comes_up(0);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w1 replaced"));
    gate.dies(1);
    EXPECT_THAT(gate.deeds(), Contains("start w2 on 1 with g2"));
}

// ── when it does not work ────────────────────────────────────────────────────────────────────────

TEST(ReloadInPlace, IsAbandonedWhenTheFirstWorkerEnds) {
    Gate gate(pool_of(2));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("kill w2 exited", "reload g2 abandoned", "start w3 on 0 with g1"))
        << "the good one, at once";
    EXPECT_EQ(gate.lane(1).generation, Generation{1});
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(ReloadInPlace, IsAbandonedWhenTheFirstWorkerFailsItsProof) {
    Gate gate(pool_of(2, ProofKind::fixed));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w2 proof_failed", "reload g2 abandoned"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w3 on 0 with g1"));
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    EXPECT_NE(gate.state(0), LaneState::quarantined) << "the trial is not held against the lane";
}

TEST(ReloadInPlace, IsAbandonedWhenTheFirstWorkerLoadsInSilence) {
    Gate gate(pool_of(1));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.pass(30min);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
}

TEST(ReloadInPlace, IsAbandonedWhenItsLaneIsDrained) {
    Gate gate(pool_of(2));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.dies(0);
    gate.resume(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 0 with g1"));
}

TEST(ReloadInPlace, EndsTheOldWorkerOfALaneThatWasTurnedOffForThatReason) {
    Gate gate(pool_of(1));
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload_in_place(2);
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), Contains("stop w0 drain_asked"));
}

TEST(ReloadInPlace, KeepsTheOldWorkerThatHasNotStoppedWhenAShutdownComes) {
    Gate gate(pool_of(1));
    gate.open();
    const auto jobs = gate.queue_jobs(2);
    const JobId next = gate.queue_job();
    gate.reload_in_place(2);
    gate.ends(jobs[0]);
    EXPECT_TRUE(gate.is_queued(next));
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("reload g2 abandoned", "send j2 to w0"));
}

TEST(ReloadInPlace, KeepsServingWithTheOtherLanesMeanwhile) {
    Gate gate(pool_of(2));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    EXPECT_EQ(gate.lane_of(gate.queue_job()), LaneId{1});
    gate.dies(1);
    gate.pass(1s);
    EXPECT_EQ(gate.lane(1).generation, Generation{1}) << "not proved yet";
}

TEST(ReloadInPlace, RestartsALaneThatCrashesLaterWithTheNewGeneration) {
    Gate gate(pool_of(1));
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.comes_up(0);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "an ordinary crash: the trial was over";
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
}

TEST(ReloadInPlace, CountsNoCrashOfTheOldCodeAgainstTheNew) {
    Gate gate(pool_of(2));
    gate.open();
    const JobId job = gate.queue_job({.lane = 1});
    gate.dies(1);
    gate.pass(1s);
    gate.comes_up(1);
    ASSERT_TRUE(gate.is_running(job));
    gate.reload_in_place(2);
    gate.dies(0);
    gate.comes_up(0);
    ASSERT_EQ(gate.reason(1), Reason::replaced) << "it finishes its job";
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::starting) << "at once: the old code is of no interest now";
    gate.comes_up(1);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "the first crash of the new code";
}

TEST(ReloadInPlace, StartsTheGoodCodeAtOnceOnALaneThatRestsFromACrash) {
    Gate gate({.lanes = 3, .restart_delay_min = 20s});
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.dies(1);
    ASSERT_EQ(gate.state(1), LaneState::backoff);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 1 with g2"));
}

// ── failed lanes ─────────────────────────────────────────────────────────────────────────────────

TEST(ReloadInPlace, DoesNotTryAFailedLaneWhileAnotherIsOn) {
    Gate gate(pool_of(2));
    fail_lane_1(gate);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 replaced"));
    EXPECT_EQ(gate.state(1), LaneState::failed);
}

TEST(ReloadInPlace, RevivesEveryFailedLaneOnceTheGenerationIsGood) {
    Gate gate(pool_of(3));
    fail_lane_1(gate);
    gate.dies(2);
    gate.pass(1s);
    gate.dies(2);
    ASSERT_EQ(gate.state(2), LaneState::failed);
    gate.reload_in_place(2);
    for (int i = 0; i < 3; ++i)
        for (const LaneView& lane : gate.view().lanes) {
            if (lane.generation == Generation{1} && lane.state == LaneState::draining)
                gate.dies(lane.current);
            if (lane.state == LaneState::starting) gate.comes_up(lane.current);
        }
    for (const LaneView& lane : gate.view().lanes) {
        EXPECT_EQ(lane.generation, Generation{2}) << lane.lane.value;
        EXPECT_EQ(lane.state, LaneState::ready) << lane.lane.value;
    }
}

TEST(ReloadInPlace, TellsThatLanesComeUpAgainBeforeItTellsThatItIsOver) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.tell(GateOpened{});
    gate.dies(0), gate.dies(1);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    ASSERT_EQ(gate.state(1), LaneState::failed);
    gate.reload_in_place(2);
    gate.comes_up(0);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 loading", "lane 0 ready", "lane 1 starting",
                                         "reload g2 spread", "start w3 on 1 with g2"));
}

TEST(ReloadInPlace, RevivesTheOnlyLaneThoughItFailed) {
    Gate gate(pool_of(1));
    gate.tell(GateOpened{});
    gate.dies(0);
    gate.pass(1s);
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
    gate.comes_up(0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ReloadInPlace, NeedsALaneThatIsOnOrFailed) {
    Gate gate(pool_of(1));
    gate.open();
    gate.tell(GpuLost{LaneId{0}});
    gate.dies(0);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.restart(0);
    EXPECT_EQ(gate.pool().reloading, Generation{2}) << "it has waited";
}

}  // namespace
}  // namespace turnpike
