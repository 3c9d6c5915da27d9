#include "core/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

TEST(Placement, TakesTheLowestLaneWhenAllAreAlike) {
    Gate gate({.lanes = 3});
    gate.open();
    gate.queue_jobs(3);
    EXPECT_THAT(gate.deeds(), IsSupersetOf({"send j0 to w0", "send j1 to w1", "send j2 to w2"}));
}

TEST(Placement, PrefersTheLaneWithMostFreeSlots) {
    Gate gate({.lanes = 2, .slots = 3});
    gate.open();
    const JobId a = gate.queue_job({.lane = 0});
    gate.queue_job({.lane = 0});
    gate.queue_job({.lane = 1});
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j3", "send j3 to w1")) << "two free against one";
    gate.queue_job({.lane = 1});
    gate.ends(a);
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j5", "send j5 to w0"));
}

TEST(Placement, PrefersTheLaneWhoseLastJobIsLongestAgo) {
    Gate gate({.lanes = 3});
    gate.open();
    const auto jobs = gate.queue_jobs(3);
    gate.pass(1s);
    gate.ends(jobs[1]);
    gate.pass(1s);
    gate.ends(jobs[0]);
    gate.pass(1s);
    gate.ends(jobs[2]);
    gate.queue_jobs(3);
    EXPECT_THAT(gate.deeds(), IsSupersetOf({"send j3 to w1", "send j4 to w0", "send j5 to w2"}));
}

TEST(Placement, CountsAJobThatWasSentLikeOneThatEnded) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.open();
    gate.queue_job({.lane = 1});
    gate.pass(1s);
    gate.queue_job({.lane = 0});
    gate.pass(1s);
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j2", "send j2 to w1"));
}

TEST(Placement, ForgetsNoLastJobWhenAWorkerIsReplaced) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.run_jobs(0, 1, Verdict::answered);
    gate.pass(1s);
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(0);
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j1", "send j1 to w1")) << "lane 1 never had a job";
}

TEST(Placement, FillsEveryFreeSlot) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.tell(GateOpened{});
    gate.queue_jobs(5);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w0", "send j1 to w0"));
    gate.comes_up(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j2 to w1", "send j3 to w1"));
}

TEST(Placement, SendsTheNextJobInTheEventThatFreesTheSlot) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId first = gate.queue_job();
    gate.queue_job();
    gate.ends(first);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j1 to w0"));
}

TEST(Placement, SendsAJobOnlyToTheLaneItWants) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId first = gate.queue_job({.lane = 1});
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j0", "send j0 to w1"));
    const JobId waits = gate.queue_job({.lane = 1});
    EXPECT_TRUE(gate.is_queued(waits)) << "though lane 0 is free";
    EXPECT_EQ(gate.lane(1).queued_for_lane, 1U);
    gate.ends(first);
    EXPECT_EQ(gate.lane_of(waits), LaneId{1});
}

// ── batches ──────────────────────────────────────────────────────────────────────────────────────

TEST(Placement, FillsASlotWithABatchOfWhateverWaits) {
    Gate gate({.lanes = 1, .slots = 1, .batch = 3});
    gate.tell(GateOpened{});
    const auto jobs = gate.queue_jobs(4);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("send j0 to w0 1/3", "send j1 to w0 2/3", "send j2 to w0 3/3"));
    gate.ends(jobs[0]), gate.ends(jobs[2]);
    EXPECT_TRUE(gate.is_queued(jobs[3])) << "the slot is taken until the whole batch is done";
    gate.ends(jobs[1]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "send j3 to w0"));
}

TEST(Placement, LetsASingleJobLeaveAtOnceAlone) {
    Gate gate({.lanes = 1, .batch = 16});
    gate.open();
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j0", "send j0 to w0"));
}

TEST(Placement, MixesJobsForThisLaneIntoABatch) {
    Gate gate({.lanes = 1, .batch = 4});
    gate.tell(GateOpened{});
    gate.queue_job(), gate.queue_job({.lane = 0}), gate.queue_job({.priority = 9});
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("send j2 to w0 1/3", "send j0 to w0 2/3", "send j1 to w0 3/3"));
}

TEST(Placement, FailsOneJobOfABatchByItself) {
    Gate gate({.lanes = 1, .batch = 2});
    gate.tell(GateOpened{});
    const auto jobs = gate.queue_jobs(2);
    gate.comes_up(0);
    gate.ends(jobs[0], Verdict::bad_input);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 bad_input"));
    gate.ends(jobs[1]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered"));
}

// ── lanes that take nothing ──────────────────────────────────────────────────────────────────────

TEST(Placement, SendsNothingToAWorkerThatStillLoadsOrProves) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.tell(GateOpened{});
    gate.queue_job();
    gate.tell(WorkerStarted{gate.current(0)});
    EXPECT_THAT(gate.acts<SendJob>(), IsEmpty());
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w0"));
}

TEST(Placement, CountsTheSlotsOfALeavingWorkerTogetherWithTheNewOne) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const auto old = gate.queue_jobs(2);
    gate.reload(2);
    gate.comes_up(gate.other(0));
    const auto fresh = gate.queue_jobs(2);
    EXPECT_TRUE(gate.is_queued(fresh[0])) << "the old worker has both slots";
    EXPECT_EQ(gate.lane(0).slots_free, 0U);
    gate.ends(old[0]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j2 to w1"));
    EXPECT_TRUE(gate.is_queued(fresh[1]));
    gate.ends(old[1]);
    EXPECT_TRUE(gate.is_running(fresh[1]));
}

// ── asides ───────────────────────────────────────────────────────────────────────────────────────

TEST(Placement, SendsAnAsideAtOnceWithoutTakingASlot) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job({.is_aside = true});
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j0", "send j0 to w0"));
    EXPECT_EQ(gate.lane(0).asides, 1U);
    EXPECT_EQ(gate.lane(0).aboard, 0U);
    EXPECT_TRUE(gate.is_running(gate.queue_job())) << "the slot is free";
    EXPECT_TRUE(gate.is_running(gate.queue_job({.is_aside = true}))) << "also beside a job";
}

TEST(Placement, SendsAnAsideToTheLaneWithTheFewest) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job({.lane = 0});
    for (int i = 0; i < 4; ++i) gate.queue_job({.is_aside = true});
    EXPECT_EQ(gate.lane(0).asides, 2U);
    EXPECT_EQ(gate.lane(1).asides, 2U);
    gate.queue_job({.lane = 1, .is_aside = true});
    EXPECT_EQ(gate.lane(1).asides, 3U) << "or to the one it wants";
}

TEST(Placement, EndsAnAsideWhenEveryLaneHasItsMost) {
    Gate gate({.lanes = 1, .aside_max = 2});
    gate.open();
    const JobId first = gate.queue_job({.is_aside = true});
    gate.queue_job({.is_aside = true});
    const JobId third = gate.queue_job({.is_aside = true});
    EXPECT_EQ(gate.ended(third), EndReason::aside_full);
    EXPECT_EQ(gate.pool().counts.refused, 1U);
    gate.ends(first);
    EXPECT_TRUE(gate.is_running(gate.queue_job({.is_aside = true})));
    EXPECT_EQ(gate.view().jobs, 2U);
}

TEST(Placement, CountsTheAsidesOfALeavingWorkerToo) {
    Gate gate({.lanes = 1, .aside_max = 1});
    gate.open();
    gate.queue_job({.is_aside = true});
    gate.reload(2);
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.ended(gate.queue_job({.is_aside = true})), EndReason::aside_full);
}

TEST(Placement, EndsAnAsideWhenNoLaneServesNow) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.open();
    gate.tell(ProveAsked{PoolId{0}});
    EXPECT_EQ(gate.ended(gate.queue_job({.is_aside = true})), EndReason::aside_full);
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(gate.queue_job({.is_aside = true})));
}

TEST(Placement, KeepsAsidesAwayFromAHeldWorker) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job();
    gate.restart(0);
    EXPECT_EQ(gate.ended(gate.queue_job({.is_aside = true})), EndReason::aside_full);
}

}  // namespace
}  // namespace turnpike
