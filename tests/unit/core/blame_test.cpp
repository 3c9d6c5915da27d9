#include "core/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::replace_worker;
using testing::ElementsAre;

// ── one job per lane ─────────────────────────────────────────────────────────────────────────────

TEST(Blame, RunsAJobOnceMoreAfterALoneDeath) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.turn(),
                ElementsAre("kill w0 exited", "send j0 to w1", "lane 0 backoff exited"));
    gate.ends(job);
    EXPECT_EQ(gate.ended(job), EndReason::answered);
    EXPECT_EQ(gate.acts<EndJob>().front().attempts, 2U);
}

TEST(Blame, MakesAJobPoisonAfterItsSecondLoneDeath) {
    Gate gate({.lanes = 3});
    gate.open();
    const JobId job = gate.queue_job();
    gate.exits(gate.current(0));
    gate.exits(gate.current(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("hash j0", "end j0 poison", "kill w1 exited"));
    EXPECT_EQ(gate.ended(job), EndReason::poison);
    EXPECT_EQ(gate.lane(1).failed, 1U);
    EXPECT_EQ(gate.pool().counts.failed, 1U);
}

TEST(Blame, CountsEveryKindOfDeath) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId reports = gate.queue_job();
    gate.ends(reports, Verdict::unhealthy);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 unhealthy"));
    replace_worker(gate, 0);
    gate.tell(WorkerMisbehaved{gate.current(0)});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 poison", "kill w1 misbehaved"));
}

TEST(Blame, EndsABegunAnswerInsteadOfRepeatingIt) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.begins(job);
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 stream_broken", "kill w0 exited"));
}

TEST(Blame, EndsAJobThatMayNotBeRetried) {
    Gate gate({.lanes = 2, .may_retry = false});
    gate.open();
    gate.queue_job();
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 worker_died", "kill w0 exited"));
}

TEST(Blame, NeverRetriesAnAside) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job({.is_aside = true});
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 worker_died", "kill w0 exited"));
}

TEST(Blame, HasNothingToDoForAnAbandonedAttempt) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.tell(ClientLeft{gate.queue_job()});
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 exited"));
    EXPECT_EQ(gate.view().attempts, 0U);
}

TEST(Blame, ReservesALaneWhereEveryRideIsAloneToo) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job();
    gate.exits(gate.current(0));
    EXPECT_TRUE(gate.lane(1).is_reserved) << "or an aside could share its death";
}

TEST(Blame, MakesAJobPoisonAfterTwoLoneDeathsThoughAnAsideSharedTheFirst) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.queue_job({.is_aside = true});
    replace_worker(gate, 0);
    for (int lone_deaths = 0; lone_deaths < 2; ++lone_deaths) {
        ASSERT_TRUE(gate.is_running(job)) << "after " << lone_deaths << " lone deaths";
        const JobId aside = gate.queue_job({.is_aside = true});
        EXPECT_EQ(gate.ended(aside), EndReason::aside_full) << "it rides alone";
        replace_worker(gate, 0);
    }
    EXPECT_EQ(gate.ended(job), EndReason::poison);
}

// ── deaths that we ordered ───────────────────────────────────────────────────────────────────────

TEST(Blame, CountsNothingAgainstAJobWhenTheDeathWasOrdered) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    for (int i = 0; i < 3; ++i) {
        gate.restart(0), gate.restart(0);
        gate.dies(0);
        gate.comes_up(0);
        gate.tell(GpuLost{LaneId{0}});
        ASSERT_FALSE(gate.is_running(job));
        if (gate.ended(job)) break;
        gate.restart(0);
        gate.dies(0);
        gate.comes_up(0);
    }
    EXPECT_EQ(gate.ended(job), EndReason::no_lane) << "its only lane was lost, but it is no poison";
}

TEST(Blame, AsksForNoLoneRideAfterAnOrderedDeath) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.open();
    const JobId a = gate.queue_job({.lane = 0});
    const JobId b = gate.queue_job({.lane = 0});
    gate.restart(0), gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 restart_asked"));
    gate.dies(0);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w2", "send j1 to w2")) << "together";
    replace_worker(gate, 1);
    EXPECT_TRUE(gate.is_running(a) && gate.is_running(b));
}

TEST(Blame, MovesTheJobsOfALostGpuWithoutBlame) {
    Gate gate({.lanes = 3});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(GpuLost{LaneId{0}});
    EXPECT_EQ(gate.lane_of(job), LaneId{1});
    gate.exits(gate.current(1));
    EXPECT_EQ(gate.lane_of(job), LaneId{2}) << "the first lone death";
    gate.exits(gate.current(2));
    EXPECT_EQ(gate.ended(job), EndReason::poison);
}

}  // namespace
}  // namespace turnpike
