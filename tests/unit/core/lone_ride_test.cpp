// Jobs that must ride alone, and the lane that is reserved for them (blame.cpp, placement.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::replace_worker;
using testing::ElementsAre;

/// Two lanes with two slots. The worker of lane 0 died with `a` and `b` aboard; both want that
/// lane.
struct SharedDeath {
    SharedDeath() : gate({.lanes = 2, .slots = 2}) {
        gate.open();
        a = gate.queue_job({.lane = 0});
        b = gate.queue_job({.lane = 0});
        gate.dies(0);
    }
    Gate gate;
    JobId a;
    JobId b;
};

/// The same, with jobs that may go to any lane; lane 1 is idle.
struct SharedDeathOfAnyLane {
    SharedDeathOfAnyLane() : gate({.lanes = 2, .slots = 2}) {
        gate.tell(GateOpened{});
        gate.comes_up(0);
        a = gate.queue_job();
        b = gate.queue_job();
        gate.comes_up(1);
        gate.dies(0);
    }
    Gate gate;
    JobId a;
    JobId b;
};

TEST(LoneRide, SendsJobsThatSharedADeathAloneOneAfterTheOther) {
    SharedDeathOfAnyLane scene;
    Gate& gate = scene.gate;
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 exited", "send j0 to w1"));
    EXPECT_TRUE(gate.lane(1).is_reserved);
    EXPECT_FALSE(gate.lane(1).can_take_jobs);
    const JobId other = gate.queue_job();
    EXPECT_TRUE(gate.is_queued(other)) << "though a slot is free";
    EXPECT_EQ(gate.ended(gate.queue_job({.is_aside = true})), EndReason::aside_full)
        << "nor asides";
    gate.ends(scene.a);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j1 to w1"));
    gate.ends(scene.b);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "send j2 to w1"));
    EXPECT_FALSE(gate.lane(1).is_reserved);
}

TEST(LoneRide, CountsNothingAgainstAJobInASharedDeath) {
    SharedDeathOfAnyLane scene;
    Gate& gate = scene.gate;
    gate.pass(1s);
    gate.comes_up(0);
    gate.exits(gate.sent(scene.a).worker);
    EXPECT_EQ(gate.ended(scene.a), std::nullopt) << "its first lone death";
    EXPECT_TRUE(gate.is_running(scene.b));
    gate.ends(scene.b);
    EXPECT_TRUE(gate.is_running(scene.a));
    gate.exits(gate.sent(scene.a).worker);
    EXPECT_EQ(gate.ended(scene.a), EndReason::poison);
}

TEST(LoneRide, RidesAloneAfterALoneDeathToo) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.lane_of(job), LaneId{1});
    EXPECT_TRUE(gate.lane(1).is_reserved);
    EXPECT_TRUE(gate.is_queued(gate.queue_job()));
}

TEST(LoneRide, RidesAloneInAPoolWithBatchesToo) {
    Gate gate({.lanes = 1, .batch = 4});
    gate.tell(GateOpened{});
    gate.queue_jobs(3);
    gate.comes_up(0);
    replace_worker(gate, 0);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w1")) << "a batch of one";
}

TEST(LoneRide, CountsAnAbandonedNeighbourAsAboard) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{gate.queue_job()});
    replace_worker(gate, 0);
    replace_worker(gate, 0);
    EXPECT_TRUE(gate.is_running(job)) << "one shared death, one lone death";
    replace_worker(gate, 0);
    EXPECT_EQ(gate.ended(job), EndReason::poison);
}

TEST(LoneRide, ReservesTheLaneWithTheFewestAboardAndWaitsUntilItIsEmpty) {
    Gate gate({.lanes = 3, .slots = 3});
    gate.open();
    const JobId suspect = gate.queue_job({.lane = 0});
    gate.queue_job({.lane = 1}), gate.queue_job({.lane = 1});
    const JobId last = gate.queue_job({.lane = 2});
    const JobId any = gate.queue_job();
    ASSERT_EQ(gate.lane_of(any), LaneId{0});
    gate.dies(0);
    EXPECT_FALSE(gate.lane(1).is_reserved);
    EXPECT_TRUE(gate.lane(2).is_reserved);
    EXPECT_TRUE(gate.is_queued(any)) << "lane 2 is not empty yet";
    gate.ends(last);
    EXPECT_EQ(gate.lane_of(any), LaneId{2});
    EXPECT_TRUE(gate.is_queued(suspect)) << "it wants lane 0";
}

TEST(LoneRide, KeepsTheLaneReservedUntilTheLoneAttemptIsOver) {
    SharedDeathOfAnyLane scene;
    Gate& gate = scene.gate;
    gate.tell(ClientLeft{scene.a});
    EXPECT_TRUE(gate.lane(1).is_reserved) << "nobody waits for it, but it is aboard";
    EXPECT_TRUE(gate.is_queued(scene.b));
    gate.ends(scene.a);
    EXPECT_TRUE(gate.is_running(scene.b));
}

TEST(LoneRide, ReleasesTheLaneWhenTheWaitingJobLeaves) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.open();
    const JobId neighbour = gate.queue_job({.lane = 1});
    const JobId suspect = gate.queue_job();
    gate.exits(gate.current(0));
    ASSERT_TRUE(gate.lane(1).is_reserved);
    gate.tell(ClientLeft{suspect});
    EXPECT_FALSE(gate.lane(1).is_reserved);
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
    EXPECT_TRUE(gate.is_running(neighbour));
}

TEST(LoneRide, ReservesAnotherLaneWhenTheFirstCanNotTakeTheJob) {
    Gate gate({.lanes = 3, .slots = 2});
    gate.open();
    const JobId suspect = gate.queue_job();
    gate.queue_job({.lane = 1});
    gate.queue_job({.lane = 2}), gate.queue_job({.lane = 2});
    gate.exits(gate.current(0));
    ASSERT_TRUE(gate.lane(1).is_reserved);
    gate.drain(1);
    EXPECT_FALSE(gate.lane(1).is_reserved);
    EXPECT_TRUE(gate.lane(2).is_reserved);
    EXPECT_TRUE(gate.is_queued(suspect));
}

TEST(LoneRide, LetsAnotherLoneRiderGoWhileOneWaitsForItsLane) {
    SharedDeath scene;  // both want lane 0
    Gate& gate = scene.gate;
    const JobId c = gate.queue_job();
    const JobId d = gate.queue_job();
    ASSERT_EQ(gate.lane_of(c), LaneId{1});
    replace_worker(gate, 1);
    EXPECT_TRUE(gate.is_running(c)) << "lane 0 is away, so c goes first";
    EXPECT_TRUE(gate.is_queued(d)) << "one at a time per pool";
    gate.comes_up(0);
    EXPECT_TRUE(gate.is_queued(scene.a));
    gate.ends(c);
    EXPECT_EQ(gate.lane_of(scene.a), LaneId{0});
    EXPECT_TRUE(gate.is_running(scene.a));
}

TEST(LoneRide, EndsALoneRiderWhoseLaneCanNeverServe) {
    SharedDeath scene;
    Gate& gate = scene.gate;
    gate.drain(0);
    EXPECT_EQ(gate.ended(scene.a), EndReason::no_lane);
    EXPECT_EQ(gate.ended(scene.b), EndReason::no_lane);
}

TEST(LoneRide, EndsLoneRidersWhenNoLaneIsLeft) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const auto jobs = gate.queue_jobs(2);
    gate.dies(0);
    gate.drain(0);
    EXPECT_EQ(gate.ended(jobs[0]), EndReason::no_lane);
    EXPECT_EQ(gate.ended(jobs[1]), EndReason::no_lane);
}

}  // namespace
}  // namespace turnpike
