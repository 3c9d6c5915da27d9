// A person asks for a restart (drain.cpp).
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

TEST(RestartAsked, RestartsAnIdleLane) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 restart_asked"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g1"));
    EXPECT_EQ(gate.lane(0).restarts, 1U);
}

TEST(RestartAsked, RestartsABusyLaneWhenItsJobsAreDoneOrAtOnceWhenAskedAgain) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 restart_asked"));
    EXPECT_TRUE(gate.is_queued(job));
}

TEST(RestartAsked, RestartsADrainingLaneGently) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.drain(0);
    gate.restart(0);
    EXPECT_EQ(gate.reason(0), Reason::restart_asked);
    EXPECT_TRUE(gate.is_running(job));
    gate.ends(job);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), Contains("start w1 on 0 with g1"));
}

TEST(RestartAsked, StopsALoadingWorkerAtOnceToRestartIt) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 restart_asked"));
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "it is stopping already";
}

TEST(RestartAsked, RevivesEveryLaneThatIsOffByRestart) {
    Gate gate({.lanes = 3, .crash_limit = 1});
    gate.open();
    gate.drain(0);
    gate.dies(0);
    gate.dies(1);
    gate.tell(GpuLost{LaneId{2}});
    gate.dies(2);
    for (const std::uint64_t lane : {0, 1, 2}) {
        gate.restart(lane);
        EXPECT_THAT(gate.acts<StartWorker>(), SizeIs(1)) << lane;
        EXPECT_EQ(gate.state(lane), LaneState::starting) << lane;
    }
}

TEST(RestartAsked, KillsAgainAWorkerThatSurvivedItsKill) {
    Gate gate({.lanes = 1, .kill_patience = 10s});
    gate.open();
    gate.exits(gate.current(0));
    gate.pass(10s);
    ASSERT_EQ(gate.reason(0), Reason::will_not_die);
    gate.restart(0);
    EXPECT_THAT(gate.acts<KillWorker>(), SizeIs(1));
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty()) << "not beside it";
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

TEST(RestartAsked, GivesUpAgainAWorkerThatSurvivesTheSecondKill) {
    Gate gate({.lanes = 1, .kill_patience = 10s});
    gate.open();
    gate.exits(gate.current(0));
    gate.pass(10s);
    gate.restart(0);
    gate.pass(10s);
    EXPECT_EQ(gate.reason(0), Reason::will_not_die);
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
}

TEST(RestartAsked, KillsAgainANextWorkerThatSurvivedItsKill) {
    Gate gate({.lanes = 1, .kill_patience = 10s});
    gate.open();
    gate.reload(2);
    gate.exits(gate.other(0));
    gate.pass(10s);
    ASSERT_EQ(gate.reason(0), Reason::will_not_die);
    gate.dies(gate.current(0));
    gate.restart(0);
    EXPECT_THAT(gate.acts<KillWorker>(), SizeIs(1));
}

TEST(RestartAsked, RestartsALaneInTheMiddleOfAReload) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload(2);
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w2 restart_asked"))
        << "its next worker; the current one finishes";
    EXPECT_TRUE(gate.is_running(job));
    gate.ends(job);
    gate.dies(gate.other(0));
    gate.dies(0);
    EXPECT_EQ(gate.lane(0).generation, Generation{1}) << "the new one is not good yet";
    gate.comes_up(gate.other(1));
    gate.comes_up(0);
    EXPECT_EQ(gate.reason(0), Reason::replaced);
}

TEST(RestartAsked, KillsALeavingWorkerWhenARestartIsAskedTwice) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const JobId old = gate.queue_job();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    const JobId fresh = gate.queue_job();
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.restart(0);
    EXPECT_THAT(gate.acts<KillWorker>(), SizeIs(2));
    EXPECT_TRUE(gate.is_queued(old) && gate.is_queued(fresh));
}

}  // namespace
}  // namespace turnpike
