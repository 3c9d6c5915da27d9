// Reloads while a failed lane waits for its next try, or tries again (lane.cpp, reload.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::fail_lane_1;
using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

PoolSettings two_lanes() { return {.lanes = 2, .crash_limit = 2, .revive_every = 5min}; }

TEST(RevivalAndReload, StopTheTryForTheNewCode) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.pass(5min);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 replaced", "start w4 on 0 with g2"));
    gate.dies(1);
    EXPECT_THAT(gate.deeds(), Contains("start w5 on 1 with g2"));
    gate.comes_up(gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::ready);
    EXPECT_EQ(gate.lane(1).generation, Generation{2});
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "it is not on parole";
}

TEST(RevivalAndReload, StopTheTryForTheNewCodeInPlace) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.pass(5min);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 replaced", "stop w0 replaced"));
    gate.dies(1), gate.dies(0);
    gate.comes_up(0);
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    gate.comes_up(1);
    EXPECT_EQ(gate.lane(1).generation, Generation{2});
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(RevivalAndReload, WaitForEachOther) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.reload_in_place(2);  // on lane 0
    gate.dies(0);
    gate.pass(10min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty()) << "newer code may soon be there";
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    EXPECT_FALSE(gate.current(1).is_none()) << "its time had come meanwhile";
    EXPECT_EQ(gate.lane(1).generation, Generation{1});
    EXPECT_EQ(gate.state(1), LaneState::failed);
}

TEST(RevivalAndReload, CountTheTimeAnewWhenTheReloadIsAbandoned) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.pass(4min);
    gate.reload(2);
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::failed);
    EXPECT_EQ(gate.lane(1).next_try, 5min);
}

TEST(RevivalAndReload, LeaveALaneFailedOnWhichTheNewCodeWasTriedInPlaceInVain) {
    Gate gate({.lanes = 1, .crash_limit = 1, .revive_every = 5min});
    gate.tell(GateOpened{});
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g2"));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
    EXPECT_EQ(gate.lane(0).next_try, 5min);
}

/// Lets the lane's worker load and give a wrong answer to its proof, then starts its next one.
void answers_wrong(Gate& gate, std::uint64_t lane) {
    gate.tell(WorkerStarted{gate.current(lane)}), gate.tell(WorkerReady{gate.current(lane)});
    gate.fails_proof(gate.current(lane));
    gate.dies(gate.current(lane));
    gate.pass(1s);
}

TEST(RevivalAndReload, LeaveALaneFailedThatWasNotQuarantinedMeanwhileAndCrashesInItsTry) {
    Gate gate({.lanes = 2, .job_timeout = 1h, .crash_limit = 1, .proof = ProofKind::fixed});
    gate.open();
    const JobId suspect = test::job_on(gate, 1);
    gate.dies(1);
    gate.pass(1s);
    answers_wrong(gate, 1);
    gate.reload(2);
    answers_wrong(gate, 1);
    ASSERT_NE(gate.state(1), LaneState::quarantined) << "newer code may help";
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    gate.ends(suspect);
    ASSERT_EQ(gate.state(1), LaneState::failed) << "charged with the death";
    if (!gate.current(1).is_none()) gate.dies(1);
    gate.pass(5min);
    ASSERT_FALSE(gate.current(1).is_none()) << "it tries again";
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::failed);
    EXPECT_EQ(gate.reason(1), Reason::crashed_too_often);
}

TEST(RevivalAndReload, QuarantineNoLaneForWrongAnswersDuringAReloadWhenItsWorkerCrashesLater) {
    Gate gate({.lanes = 2, .crash_limit = 3, .proof = ProofKind::fixed});
    gate.open();
    gate.reload(2);
    gate.dies(1);
    gate.pass(1s);
    answers_wrong(gate, 1), answers_wrong(gate, 1);
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "it crashed, and gave no wrong answer";
    gate.pass(10s);
    answers_wrong(gate, 1);
    EXPECT_EQ(gate.state(1), LaneState::quarantined) << "one more wrong answer is enough";
}

}  // namespace
}  // namespace turnpike
