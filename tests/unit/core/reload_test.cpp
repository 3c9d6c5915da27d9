#include "core/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

PoolSettings two_lanes(ProofKind proof = ProofKind::none) {
    return {.lanes = 2, .crash_limit = 2, .proof = proof};
}

void all_gone(Gate& gate, std::uint64_t lane) {
    if (!gate.other(lane).is_none()) gate.dies(gate.other(lane));
}

// ── beside, when all goes well ───────────────────────────────────────────────────────────────────

TEST(Reload, StartsANextWorkerBesideEveryCurrentOne) {
    Gate gate(two_lanes());
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload(2);
    EXPECT_THAT(gate.turn(), ElementsAre("start w2 on 0 with g2", "start w3 on 1 with g2"));
    EXPECT_TRUE(gate.is_running(job));
    EXPECT_EQ(gate.lane_of(gate.queue_job()), LaneId{1}) << "the old workers serve meanwhile";
    EXPECT_EQ(gate.sent(job).worker, gate.current(0));
    EXPECT_EQ(gate.pool().reloading, Generation{2});
    EXPECT_EQ(gate.pool().good, Generation{1});
}

TEST(Reload, SwitchesEachLaneWhenItsNextWorkerServes) {
    Gate gate(two_lanes());
    gate.open();
    const JobId old = gate.queue_job();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.pool().good, Generation{2});
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    EXPECT_EQ(gate.lane(1).generation, Generation{1}) << "its own has not come up yet";
    EXPECT_TRUE(gate.is_running(old)) << "the old worker finishes its job";
    gate.ends(old);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 replaced"));
    gate.comes_up(gate.other(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("switch 1 to w3", "stop w1 replaced"));
    all_gone(gate, 0);
    EXPECT_THAT(gate.deeds(), Not(Contains("reload g2 spread")));
    all_gone(gate, 1);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 spread"));
    EXPECT_TRUE(gate.pool().reloading.is_none());
}

TEST(Reload, GivesNewJobsToTheNewWorkerWhileTheOldFinishes) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const JobId old = gate.queue_job();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.queue_job();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j1", "send j1 to w1"));
    EXPECT_TRUE(gate.is_running(old));
}

TEST(Reload, LetsNoUnprovedWorkerServe) {
    Gate gate(two_lanes(ProofKind::fixed));
    gate.open();
    gate.reload(2);
    gate.tell(WorkerReady{gate.other(0)});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w2"));
    EXPECT_EQ(gate.lane(0).generation, Generation{1});
    gate.passes_proof(gate.other(0));
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
}

// ── beside, when something fails ─────────────────────────────────────────────────────────────────

TEST(Reload, IsAbandonedWhenAProofFailsBeforeAnyPassed) {
    Gate gate(two_lanes(ProofKind::fixed));
    gate.open();
    gate.reload(2);
    gate.tell(WorkerReady{gate.other(1)});
    gate.fails_proof(gate.other(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 proof_failed", "stop w2 reload_abandoned",
                                          "reload g2 abandoned"));
    EXPECT_EQ(gate.pool().good, Generation{1});
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_EQ(gate.state(1), LaneState::ready);
    all_gone(gate, 0), all_gone(gate, 1);
    gate.dies(0);
    gate.pass(1s);
    EXPECT_EQ(gate.lane(0).generation, Generation{1}) << "a crash comes back with code that works";
}

TEST(Reload, IsAbandonedWhenEveryNextWorkerEnded) {
    Gate gate(two_lanes());
    gate.open();
    gate.reload(2);
    gate.exits(gate.other(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w2 exited"));
    gate.exits(gate.other(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w3 exited", "reload g2 abandoned"));
    EXPECT_EQ(gate.state(0), LaneState::ready) << "a next worker's end is no crash of the lane";
}

TEST(Reload, RestartsALaneWhoseNextWorkerEndedOnceTheGenerationIsGood) {
    Gate gate(two_lanes());
    gate.open();
    const JobId job = gate.queue_job({.lane = 0});
    gate.reload(2);
    gate.dies(gate.other(0));
    EXPECT_EQ(gate.state(0), LaneState::busy);
    gate.comes_up(gate.other(1));
    EXPECT_EQ(gate.reason(0), Reason::replaced) << "it finishes, then starts the good one";
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 replaced"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 0 with g2"));
}

TEST(Reload, RestartsALaneWhoseNextWorkerFailsItsProofOnceTheGenerationIsGood) {
    Gate gate(two_lanes(ProofKind::fixed));
    gate.open();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.tell(WorkerReady{gate.other(1)});
    gate.fails_proof(gate.other(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 proof_failed", "stop w1 replaced"));
    EXPECT_EQ(gate.pool().good, Generation{2});
}

TEST(Reload, StartsTheGoodGenerationAfterACrashWhileTheNewOneIsTried) {
    Gate gate(two_lanes());
    gate.open();
    gate.reload(2);
    gate.dies(0);
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w4 on 0 with g1"));
    gate.comes_up(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("stop w4 replaced")) << "no longer needed";
}

TEST(Reload, IsAbandonedWhenEveryNextWorkerLoadsInSilence) {
    Gate gate({.lanes = 1, .load_timeout = 10s});
    gate.open();
    gate.reload(2);
    gate.tell(WorkerStarted{gate.other(0)});
    gate.pass(10s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w1 load_silent", "reload g2 abandoned"));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Reload, TakesOverAtOnceFromALaneThatWaitsAfterACrash) {
    Gate gate(two_lanes());
    gate.open();
    gate.reload(2);
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::backoff);
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.state(0), LaneState::ready) << "whatever its delay";
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    gate.pass(1min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
}

TEST(Reload, OfAnAttachedPoolKeepsTheOldLinkUntilTheNewOneServes) {
    Gate gate({.lanes = 1, .ownership = Ownership::attached});
    gate.open();
    gate.reload(2);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.reload(3);
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.lane(0).generation, Generation{3});
}

// ── what is asked for ────────────────────────────────────────────────────────────────────────────

TEST(Reload, IgnoresAGenerationThatIsNotNewer) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(1);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.reload(5);
    gate.dies(gate.other(0));
    gate.reload(5);
    gate.reload(4);
    gate.tell(ReloadAsked{PoolId{0}, Generation{}});
    gate.tell(ReloadAsked{PoolId{3}, Generation{9}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_TRUE(gate.pool().reloading.is_none());
}

TEST(Reload, OfOnePoolLeavesTheOthersAlone) {
    Gate gate(test::settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    gate.tell(ReloadAsked{PoolId{1}, Generation{2}});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 1 with g2"));
    EXPECT_EQ(gate.pool(0).good, Generation{1});
}

// ── shutting down ────────────────────────────────────────────────────────────────────────────────

TEST(Reload, NeverBeginsWhileShuttingDown) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job();
    gate.shut_down(1min);
    gate.reload(2);
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Reload, IsAbandonedByAShutdown) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload(2);
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w1 reload_abandoned", "reload g2 abandoned"));
    EXPECT_TRUE(gate.is_running(job));
}

}  // namespace
}  // namespace turnpike
