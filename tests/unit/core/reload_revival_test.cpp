// Reloads of pools with lanes that are off: failed, drained, or resumed during the reload
// (reload.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::fail_lane_1;
using test::Gate;
using test::replace_worker;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PoolSettings two_lanes(ProofKind proof = ProofKind::none) {
    return {.lanes = 2, .crash_limit = 2, .proof = proof};
}

TEST(ReloadRevival, RevivesAFailedLane) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 0 with g2", "start w4 on 1 with g2"));
    gate.comes_up(gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::ready);
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    ASSERT_THAT(gate.deeds(), Contains("reload g2 spread"));
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "its old crashes are forgotten";
}

TEST(ReloadRevival, FailsARevivedLaneAgainWhenItIsAbandoned) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.reload(2);
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::failed);
    EXPECT_EQ(gate.reason(1), Reason::crashed_too_often);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.pass(1min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
}

TEST(ReloadRevival, StartsTheGoodGenerationOnARevivedLaneWhoseNextWorkerEnded) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.reload(2);
    gate.dies(gate.other(1));
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty()) << "generation 1 failed here";
    gate.comes_up(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("start w5 on 1 with g2"));
}

TEST(ReloadRevival, LeavesALaneAloneThatAPersonRestartedMeanwhile) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.reload(2);
    gate.restart(1);
    gate.dies(gate.other(1));
    EXPECT_THAT(gate.deeds(), Contains("start w5 on 1 with g1")) << "a person wants it on";
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    EXPECT_EQ(gate.state(1), LaneState::starting);
}

TEST(ReloadRevival, FailsNoLaneWhileNewerCodeMayHelp) {
    Gate gate(two_lanes());
    gate.open();
    gate.reload(2);
    for (int i = 0; i < 5; ++i) {
        gate.dies(0);
        EXPECT_EQ(gate.state(0), LaneState::backoff) << "after " << i + 1 << " crashes";
        gate.pass(10s);
    }
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed) << "the next crash is one too many";
}

TEST(ReloadRevival, CountsNoCrashOfTheOldCodeAgainstTheNew) {
    Gate gate(two_lanes());
    gate.open();
    replace_worker(gate, 0);
    gate.reload(2);
    gate.comes_up(gate.other(0)), gate.comes_up(gate.other(1));
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    ASSERT_THAT(gate.deeds(), Contains("reload g2 spread"));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "its first";
    gate.pass(1s);
    gate.comes_up(0);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed) << "its second";
}

TEST(ReloadRevival, RemembersTheCrashesOfTheOldCodeWhenItIsAbandoned) {
    Gate gate(two_lanes());
    gate.open();
    replace_worker(gate, 0);
    gate.reload(2);
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    ASSERT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(ReloadRevival, BringsBackAPoolAllOfWhoseLanesHaveFailed) {
    Gate gate({.lanes = 1, .crash_limit = 1});
    gate.tell(GateOpened{});
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.queue_job();
    EXPECT_EQ(gate.refusal(), EndReason::no_lane);
    gate.reload(2);
    const JobId job = gate.queue_job();
    EXPECT_TRUE(gate.is_queued(job)) << "there is hope";
    gate.comes_up(gate.other(0));
    EXPECT_TRUE(gate.is_running(job));
}

TEST(ReloadRevival, PassesAQuarantinedLaneBy) {
    Gate gate(two_lanes());
    gate.open();
    gate.tell(GpuLost{LaneId{1}});
    gate.dies(1);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 spread"));
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    gate.restart(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 1 with g2"));
}

TEST(ReloadRevival, PassesADrainedLaneBy) {
    Gate gate(two_lanes());
    gate.open();
    gate.drain(1);
    gate.dies(1);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 spread"));
    gate.resume(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 1 with g2"));
}

TEST(ReloadRevival, BringsALaneAlongThatIsResumedMeanwhile) {
    Gate gate(two_lanes());
    gate.open();
    const JobId job = gate.queue_job({.lane = 1});
    gate.drain(1);
    gate.reload(2);
    gate.resume(1);
    EXPECT_EQ(gate.lane(1).generation, Generation{1});
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.reason(1), Reason::replaced);
    gate.ends(job);
    gate.dies(1);
    EXPECT_EQ(gate.lane(1).generation, Generation{2});
}

TEST(ReloadRevival, StopsTheNextWorkerOfALaneThatIsDrained) {
    Gate gate(two_lanes());
    gate.open();
    gate.reload(2);
    gate.drain(1);
    EXPECT_THAT(gate.acts<StopWorker>(), SizeIs(2)) << "current and next";
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.pool().good, Generation{2});
}

TEST(ReloadRevival, WaitsUntilThereIsALane) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    gate.dies(0);
    gate.reload(2);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.resume(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g1"));
    EXPECT_EQ(gate.pool().reloading, Generation{2}) << "its next worker comes beside";
}

}  // namespace
}  // namespace turnpike
