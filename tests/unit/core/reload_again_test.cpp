// Newer code while a reload is in progress (reload.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/reload.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// ── while the reload is trying ───────────────────────────────────────────────────────────────────

TEST(ReloadAgain, StartsOverWithTheNewestWhileNoWorkerServesYet) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2);
    gate.reload(3);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w1 replaced", "reload g2 superseded"));
    EXPECT_EQ(gate.pool().reloading, Generation{3});
    EXPECT_TRUE(gate.is_running(gate.queue_job())) << "the old worker serves meanwhile";
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g3"))
        << "when the outdated one is gone";
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.pool().good, Generation{3});
}

TEST(ReloadAgain, BuildsOnlyTheNewestOfABurst) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2), gate.reload(3), gate.reload(4);
    EXPECT_THAT(gate.turn(), ElementsAre("reload g3 superseded"));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("start w2 on 0 with g4"));
}

TEST(ReloadAgain, StartsTheNewestOnEachLaneAsSoonAsItsOwnOutdatedWorkerIsGone) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.reload(2);
    gate.dies(gate.other(1));
    gate.reload(3);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("kill w2 replaced", "reload g2 superseded", "start w4 on 1 with g3"));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("start w5 on 0 with g3"));
}

TEST(ReloadAgain, IgnoresLateEventsOfTheOutdatedWorker) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.open();
    gate.reload(2);
    const WorkerId outdated = gate.other(0);
    gate.tell(WorkerReady{outdated});
    gate.reload(3);
    gate.fails_proof(outdated);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.passes_proof(outdated);
    EXPECT_EQ(gate.pool().reloading, Generation{3});
    EXPECT_EQ(gate.pool().good, Generation{1});
}

TEST(ReloadAgain, KeepsTheJobsOfAFailedPoolWhileNewerCodeMayHelp) {
    Gate gate({.lanes = 1, .crash_limit = 1});
    gate.tell(GateOpened{});
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.reload(2);
    const JobId job = gate.queue_job();
    gate.reload(3);
    EXPECT_TRUE(gate.is_queued(job));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("start w2 on 0 with g3"));
    gate.dies(gate.other(0));
    EXPECT_EQ(gate.state(0), LaneState::failed) << "that was the last hope";
    EXPECT_EQ(gate.ended(job), EndReason::no_lane);
}

TEST(ReloadAgain, TakesTheNextOneAfterAnAbandonedOne) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2);
    gate.dies(gate.other(0));
    gate.reload(3);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g3"));
}

// ── in place ─────────────────────────────────────────────────────────────────────────────────────

TEST(ReloadAgain, GoesStraightToTheNewestInPlace) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.reload_in_place(2);
    gate.dies(0);
    gate.reload_in_place(3);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w2 replaced", "reload g2 superseded"));
    EXPECT_EQ(gate.state(1), LaneState::ready);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 0 with g3")) << "not the good one first";
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 0 with g1"));
}

TEST(ReloadAgain, LetsTheJobsOfALaneThatMakesRoomFinish) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload_in_place(2);
    gate.reload_in_place(3);
    EXPECT_THAT(gate.turn(), ElementsAre("reload g2 superseded"));
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 replaced"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g3"));
}

TEST(ReloadAgain, ServesOnWithALaneThatNeedNotMakeRoomAnyMore) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload_in_place(2);
    gate.reload(3);
    EXPECT_THAT(gate.deeds(), ElementsAre("reload g2 superseded", "start w1 on 0 with g3"));
    gate.ends(job);
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
}

TEST(ReloadAgain, MakesRoomWhenThereIsNoMemoryForTwoAnyMore) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2);
    gate.reload_in_place(3);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("kill w1 replaced", "reload g2 superseded", "stop w0 replaced"));
    gate.dies(0);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty()) << "the other is not gone";
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("start w2 on 0 with g3"));
}

// ── while the reload is spreading ────────────────────────────────────────────────────────────────

TEST(ReloadAgain, WaitsForTheOneThatSpreadsAndThenTakesTheNewest) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.reload(3), gate.reload(4);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.comes_up(gate.other(1));
    gate.dies(gate.other(1));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 replaced", "reload g2 spread",
                                          "start w4 on 0 with g4", "start w5 on 1 with g4"));
}

}  // namespace
}  // namespace turnpike
