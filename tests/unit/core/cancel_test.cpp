#include "core/cancel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

/// One lane. Jobs may run for 10 s, then have 5 s to obey a cancel.
PoolSettings pool_with(CancelPolicy policy, std::uint32_t slots = 1) {
    return {.slots = slots, .job_timeout = 10s, .cancel = policy, .cancel_grace = 5s};
}

// ── abandoned: the job has ended, the attempt runs on ────────────────────────────────────────────

TEST(Cancel, TellsTheWorkerNothingWhenThePolicyIsToFinish) {
    Gate gate(pool_with(CancelPolicy::finish));
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.turn(), ElementsAre("end j0 client_left"));
    EXPECT_TRUE(gate.is_queued(gate.queue_job())) << "the slot stays taken";
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w0"));
}

TEST(Cancel, TellsTheWorkerWhenThePolicyIsToClose) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(CancelAsked{job});
    EXPECT_THAT(gate.turn(), ElementsAre("end j0 cancel_asked", "cancel j0 on w0"));
    EXPECT_TRUE(gate.is_queued(gate.queue_job())) << "the slot stays taken";
    gate.ends(job, Verdict::cancelled);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w0"));
}

TEST(Cancel, KillsTheWorkerWhenThePolicyIsToKill) {
    Gate gate(pool_with(CancelPolicy::kill));
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.turn(), ElementsAre("end j0 client_left", "kill w0 job_cancelled",
                                         "lane 0 draining job_cancelled"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"))
        << "at once: it counts as nothing";
}

TEST(Cancel, NeverFailsALaneByKillingItsWorkers) {
    PoolSettings settings = pool_with(CancelPolicy::kill);
    settings.lanes = 2;
    settings.crash_limit = 1;
    Gate gate(settings);
    gate.open();
    for (int i = 0; i < 5; ++i) {
        gate.tell(ClientLeft{gate.queue_job({.lane = 0})});
        gate.dies(0);
        gate.comes_up(0);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Cancel, FollowsThePolicyWhenAJobsDeadlinePasses) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    gate.queue_job({.timeout = 3s});
    gate.pass(3s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 deadline_passed", "cancel j0 on w0"));
}

TEST(Cancel, AlwaysClosesAsides) {
    for (const CancelPolicy policy :
         {CancelPolicy::finish, CancelPolicy::close, CancelPolicy::kill}) {
        Gate gate(pool_with(policy));
        gate.open();
        const JobId aside = gate.queue_job({.is_aside = true});
        gate.tell(ClientLeft{aside});
        EXPECT_THAT(gate.turn(), ElementsAre("end j0 client_left", "cancel j0 on w0"))
            << name_of(policy);
        EXPECT_EQ(gate.lane(0).asides, 1U) << "until it ends";
        gate.ends(aside, Verdict::cancelled);
        EXPECT_EQ(gate.lane(0).asides, 0U);
    }
}

// ── job_timeout ──────────────────────────────────────────────────────────────────────────────────

TEST(Cancel, ClosesAnAttemptThatRanTooLongAndKillsItsWorkerAfterTheGrace) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    gate.queue_job();
    gate.pass(10s);
    EXPECT_THAT(gate.turn(), ElementsAre("end j0 ran_too_long", "cancel j0 on w0"));
    gate.pass(5s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 job_stuck", "lane 0 draining job_stuck"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"))
        << "at once: it counts as nothing";
}

TEST(Cancel, SendsNothingAtJobTimeoutWhenThePolicyIsToFinish) {
    Gate gate(pool_with(CancelPolicy::finish));
    gate.open();
    gate.queue_job();
    gate.pass(10s);
    EXPECT_THAT(gate.turn(), ElementsAre("end j0 ran_too_long"));
    gate.pass(5s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

TEST(Cancel, KillsAtOnceAtJobTimeoutWhenThePolicyIsToKill) {
    Gate gate(pool_with(CancelPolicy::kill));
    gate.open();
    gate.queue_job();
    gate.pass(10s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 ran_too_long", "kill w0 job_cancelled"));
}

TEST(Cancel, CallsAnAsideThatRanTooLongStuckLikeAnyOther) {
    Gate gate(pool_with(CancelPolicy::finish));
    gate.open();
    gate.queue_job({.is_aside = true});
    gate.pass(10s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 ran_too_long", "cancel j0 on w0"));
    gate.pass(5s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

TEST(Cancel, TellsAWorkerOnlyOnce) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    gate.tell(ClientLeft{gate.queue_job()});
    gate.pass(10s);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "it was told when the client left";
    gate.pass(5s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

TEST(Cancel, CountsJobTimeoutForAnAbandonedAttemptToo) {
    Gate gate(pool_with(CancelPolicy::finish));
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(5s);
    gate.tell(ClientLeft{job});
    gate.pass(10s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"))
        << "job_timeout + cancel_grace since it was sent";
}

TEST(Cancel, DoesNotKillAWorkerThatObeysTheCancel) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(10s);
    gate.ends(job, Verdict::cancelled);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
}

TEST(Cancel, IsNotPutOffByAnAnswerThatNobodyWaitsFor) {
    Gate gate(pool_with(CancelPolicy::finish));
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    gate.pass(9s);
    gate.moves(job);
    gate.begins(job);
    gate.pass(6s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck")) << "an endless answer must end";
}

TEST(Cancel, IsNotPutOffByAnAnswerThatMovesAfterTheTimeout) {
    Gate gate(pool_with(CancelPolicy::close));
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(10s);
    gate.moves(job);
    gate.pass(5s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

}  // namespace
}  // namespace turnpike
