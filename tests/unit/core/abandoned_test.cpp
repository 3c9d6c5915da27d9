// Workers with nothing aboard that anybody waits for (cancel.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cancel.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto killed = "kill w0 job_abandoned";

/// Lane 0 of two; a charge would fail it.
PoolSettings pool_with(std::uint32_t slots = 1) {
    return {.lanes = 2, .slots = slots, .job_timeout = 1h, .cancel_grace = 5s, .crash_limit = 1};
}

JobId queue_job(Gate& gate) { return gate.queue_job({.lane = 0}); }
void leave(Gate& gate, JobId job) { gate.tell(ClientLeft{job}); }

/// Checks that the worker of lane 0 is killed after exactly this time.
void expect_killed_after(Gate& gate, Duration time) {
    gate.pass(time - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre(killed));
}

void get_used_to_2s(Gate& gate) {
    for (int i = 0; i < 8; ++i) {
        const JobId job = queue_job(gate);
        gate.pass(2s);
        gate.ends(job);
    }
}

// ── the bound ────────────────────────────────────────────────────────────────────────────────────

TEST(Abandoned, Gets30sFromItsStartWhileTheUsualTimeIsUnknown) {
    Gate gate(pool_with());
    gate.open();
    const JobId job = queue_job(gate);
    gate.pass(20s);
    leave(gate, job);
    expect_killed_after(gate, 10s + 5s);
}

TEST(Abandoned, GetsSlowFactorTimesTheUsualTimeOnceThatIsKnown) {
    Gate gate(pool_with());
    gate.open();
    get_used_to_2s(gate);
    leave(gate, queue_job(gate));
    expect_killed_after(gate, 8 * 2s + 5s);
}

TEST(Abandoned, GetsCancelGraceFromTheMomentWhenNobodyWaits) {
    Gate gate(pool_with());
    gate.open();
    const JobId job = queue_job(gate);
    gate.pass(100s);
    leave(gate, job);
    expect_killed_after(gate, 5s + 5s);
}

TEST(Abandoned, GetsTheTimeThatANewWorkerWouldNeed) {
    Gate gate(pool_with());
    gate.tell(GateOpened{});
    gate.comes_up(1);
    gate.tell(WorkerStarted{gate.current(0)});
    gate.pass(2min);
    gate.comes_up(0);
    leave(gate, queue_job(gate));
    expect_killed_after(gate, 2min + 5s);
}

TEST(Abandoned, GetsNoStartTimeOfAWorkerThatSomebodyElseStarts) {
    PoolSettings settings = pool_with();
    settings.ownership = Ownership::attached;
    Gate gate(settings);
    gate.tell(GateOpened{});
    gate.pass(2min);
    gate.comes_up(0), gate.comes_up(1);
    leave(gate, queue_job(gate));
    expect_killed_after(gate, 30s + 5s);
}

TEST(Abandoned, GetsWhatThePoolSays) {
    PoolSettings settings = pool_with();
    settings.abandon_after = 1s;
    Gate gate(settings);
    gate.open();
    leave(gate, queue_job(gate));
    expect_killed_after(gate, 1s + 5s);
}

TEST(Abandoned, GetsNoMoreThanJobTimeout) {
    PoolSettings settings = pool_with();
    settings.job_timeout = 10s;
    Gate gate(settings);
    gate.open();
    leave(gate, queue_job(gate));
    gate.pass(15s - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_stuck"));
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

TEST(Abandoned, CostsItsLaneOneRestartAtOnceAndNothingElse) {
    Gate gate(pool_with());
    gate.open();
    leave(gate, queue_job(gate));
    gate.pass(35s);
    EXPECT_EQ(gate.state(0), LaneState::draining);
    EXPECT_EQ(gate.reason(0), Reason::job_abandoned);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g1"));
    gate.comes_up(0);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed) << "that one counts";
}

TEST(Abandoned, MayEndInTime) {
    for (const Duration time : {10s, 30s, 34s}) {
        Gate gate(pool_with());
        gate.open();
        const JobId job = queue_job(gate);
        leave(gate, job);
        gate.pass(time);
        gate.ends(job);
        gate.pass(5min);
        EXPECT_THAT(gate.deeds(), IsEmpty());
        EXPECT_EQ(gate.state(0), LaneState::ready);
    }
}

TEST(Abandoned, HoldsItsLaneBackMeanwhile) {
    Gate gate(pool_with());
    gate.open();
    leave(gate, queue_job(gate));
    const JobId next = queue_job(gate);
    gate.pass(35s);
    EXPECT_TRUE(gate.is_queued(next));
    gate.dies(0);
    gate.comes_up(0);
    EXPECT_TRUE(gate.is_running(next));
}

TEST(Abandoned, MayBeAnAside) {
    Gate gate(pool_with());
    gate.open();
    leave(gate, gate.queue_job({.lane = 0, .is_aside = true}));
    expect_killed_after(gate, 35s);
}

TEST(Abandoned, IsAlsoAJobWhoseDeadlinePassed) {
    Gate gate(pool_with());
    gate.open();
    gate.queue_job({.timeout = 10s, .lane = 0});
    gate.pass(35s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 deadline_passed", killed));
}

// ── begun answers ────────────────────────────────────────────────────────────────────────────────

TEST(Abandoned, IsClosedUnderFinishIfItsAnswerHasBegun) {
    Gate gate(pool_with());
    gate.open();
    const JobId begun = queue_job(gate);
    gate.begins(begun);
    leave(gate, begun);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 client_left", "cancel j0 on w0"));
    expect_killed_after(gate, 35s);
}

TEST(Abandoned, IsNotClosedUnderFinishIfItsAnswerOnlyMoved) {
    Gate gate(pool_with());
    gate.open();
    const JobId job = queue_job(gate);
    gate.moves(job);
    leave(gate, job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 client_left"));
}

// ── several slots ────────────────────────────────────────────────────────────────────────────────

TEST(Abandoned, IsWaitedForWhileSomebodyWaitsForAnotherJobAboard) {
    Gate gate(pool_with(2));
    gate.open();
    const JobId left = queue_job(gate);
    const JobId other = queue_job(gate);
    leave(gate, left);
    gate.pass(100s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.ends(other);
    expect_killed_after(gate, 5s + 5s);
}

TEST(Abandoned, StopsItsClockWhenANewJobComesAboard) {
    Gate gate(pool_with(2));
    gate.open();
    leave(gate, queue_job(gate));
    gate.pass(29s);
    const JobId other = queue_job(gate);
    ASSERT_TRUE(gate.is_running(other));
    gate.pass(100s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.ends(other);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered"));
    expect_killed_after(gate, 5s + 5s);
}

TEST(Abandoned, CountsFromTheLastOneThatWasLeft) {
    Gate gate(pool_with(2));
    gate.open();
    const JobId first = queue_job(gate);
    gate.pass(10s);
    const JobId second = queue_job(gate);
    leave(gate, first);
    leave(gate, second);
    expect_killed_after(gate, 30s + 5s);
}

TEST(Abandoned, LetsAJobFinishThatCameAboardDuringItsGrace) {
    Gate gate(pool_with(2));
    gate.open();
    leave(gate, queue_job(gate));
    gate.pass(31s);
    const JobId late = queue_job(gate);
    ASSERT_TRUE(gate.is_running(late));
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    EXPECT_EQ(gate.reason(0), Reason::job_abandoned) << "it takes nothing more";
    gate.ends(late);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", killed));
}

TEST(Abandoned, IsTheReasonAlsoOnALaneThatDrains) {
    Gate gate(pool_with());
    gate.open();
    leave(gate, queue_job(gate));
    gate.tell(DrainAsked{LaneId{0}});
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre(killed));
}

TEST(Abandoned, TakesACancelThatNobodyAskedForAsAnAnswerOfTheModel) {
    PoolSettings settings = pool_with();
    settings.fail_streak = 1;
    Gate gate(settings);
    gate.open();
    const JobId job = queue_job(gate);
    leave(gate, job);
    gate.ends(job, Verdict::cancelled);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "it failed, and lane 1 did not";
}

}  // namespace
}  // namespace turnpike
