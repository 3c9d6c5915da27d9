#include "core/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Lane, StartsNothingBeforeTheGateOpens) {
    Gate gate({.lanes = 2});
    gate.queue_job();
    gate.tell(TimePassed{});
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w0 on 0 with g1", "start w1 on 1 with g1"));
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "once";
}

TEST(Lane, StartsAtOnceAgainAfterAnOrderedEnd) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.restart(0);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g1"));
}

TEST(Lane, StartsNothingWhileItsOldWorkerIsStopping) {
    Gate gate({.lanes = 1, .kill_patience = 1h});
    gate.open();
    gate.exits(gate.current(0));
    gate.pass(1min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

// ── memory ───────────────────────────────────────────────────────────────────────────────────────

TEST(Lane, WaitsForMemoryThatItsDeadWorkerHeld) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.exits(gate.current(0));
    gate.becomes_gone(gate.current(0), Memory::held);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 backoff memory_held"));
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.tell(MemoryFreed{LaneId{0}});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

TEST(Lane, WaitsForBothItsMemoryAndItsDelay) {
    Gate gate({.lanes = 1, .restart_delay_min = 10s});
    gate.open();
    gate.exits(gate.current(0));
    gate.becomes_gone(gate.current(0), Memory::held);
    gate.tell(MemoryFreed{LaneId{0}});
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 backoff exited"));
    gate.pass(13s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

TEST(Lane, IgnoresMemoryThatIsFreeAnyway) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.tell(MemoryFreed{LaneId{0}});
    gate.tell(MemoryFreed{LaneId{7}});
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Lane, StillServesWhileItsPredecessorHoldsMemory) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.becomes_gone(gate.other(0), Memory::held);
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
    gate.dies(0);
    gate.pass(1min);
    EXPECT_EQ(gate.reason(0), Reason::memory_held) << "but nothing new starts";
}

// ── the loss of a GPU ────────────────────────────────────────────────────────────────────────────

TEST(Lane, IsQuarantinedWhenItsGpuIsLost) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(GpuLost{LaneId{0}});
    EXPECT_THAT(gate.turn(),
                ElementsAre("kill w0 gpu_lost", "send j0 to w1", "lane 0 quarantined gpu_lost"));
    gate.dies(0);
    gate.pass(1min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    gate.tell(MemoryFreed{LaneId{0}});
    gate.resume(0);
    EXPECT_EQ(gate.state(0), LaneState::quarantined) << "resume revives only drained lanes";
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Lane, IsQuarantinedWhenItsGpuIsLostWhileDrained) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    gate.tell(GpuLost{LaneId{0}});
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
    EXPECT_EQ(gate.reason(0), Reason::gpu_lost);
    gate.tell(GpuLost{LaneId{9}});
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Lane, IsCountedOnceHoweverOftenItIsTurnedOff) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.tell(GpuLost{LaneId{0}});
    gate.tell(GpuLost{LaneId{0}});
    EXPECT_TRUE(gate.is_running(gate.queue_job())) << "lane 1 is still on";
    gate.restart(0), gate.restart(0);
    gate.drain(1), gate.drain(0);
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::no_lane);
}

TEST(Lane, LosesBothItsWorkersWithItsGpu) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job({.lane = 0});
    gate.reload(2);
    gate.tell(GpuLost{LaneId{0}});
    EXPECT_THAT(gate.acts<KillWorker>(), SizeIs(2));
    gate.dies(gate.other(0));
    gate.dies(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
    EXPECT_EQ(gate.view().workers, 2U) << "those of lane 1";
}

// ── what people see ──────────────────────────────────────────────────────────────────────────────

TEST(Lane, ShowsEveryStateOfAnOrdinaryLife) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    EXPECT_EQ(gate.state(0), LaneState::starting);
    gate.tell(GateOpened{});
    EXPECT_EQ(gate.state(0), LaneState::starting);
    gate.tell(WorkerStarted{gate.current(0)});
    EXPECT_EQ(gate.state(0), LaneState::loading);
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_EQ(gate.state(0), LaneState::proving);
    gate.passes_proof(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    const JobId job = gate.queue_job();
    EXPECT_EQ(gate.state(0), LaneState::busy);
    gate.drain(0);
    EXPECT_EQ(gate.state(0), LaneState::draining);
    gate.ends(job);
    EXPECT_EQ(gate.state(0), LaneState::draining);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::drained);
}

TEST(Lane, ReportsEachChangeOnceButNotReadyAndBusy) {
    Gate gate({.lanes = 1});
    gate.open();
    EXPECT_THAT(gate.turn(),
                ElementsAre("start w0 on 0 with g1", "lane 0 loading", "lane 0 ready"));
    const JobId job = gate.queue_job();
    EXPECT_THAT(gate.acts<ReportLane>(), IsEmpty());
    gate.ends(job);
    EXPECT_THAT(gate.acts<ReportLane>(), IsEmpty());
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 exited", "lane 0 backoff exited"));
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.turn(), IsEmpty()) << "still backoff, still for the exit";
    gate.pass(1s);
    EXPECT_THAT(gate.turn(), ElementsAre("start w1 on 0 with g1", "lane 0 starting"));
}

TEST(Lane, IsDrainingWhileItsWorkerEndsByOrder) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.restart(0);
    EXPECT_THAT(gate.turn(), ElementsAre("stop w0 restart_asked", "lane 0 draining restart_asked"));
}

TEST(Lane, IsFailedWithItsReason) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 exited", "lane 0 failed crashed_too_often"));
}

TEST(Lane, OfOnePoolLivesApartFromThoseOfAnother) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 2}}));
    gate.open();
    gate.dies(1);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_EQ(gate.state(1), LaneState::backoff);
    EXPECT_EQ(gate.state(2), LaneState::ready);
    EXPECT_EQ(gate.lane(2).pool, PoolId{1});
    gate.queue_job({.pool = 1});
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j0", "send j0 to w2"));
}

}  // namespace
}  // namespace turnpike
