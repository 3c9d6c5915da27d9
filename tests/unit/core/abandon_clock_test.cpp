// The clock of a worker that nobody waits for (cancel.cpp), in turns in which several things happen. The
// invariants watch: they see only the whole turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cancel.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

PoolSettings pool_with(Duration abandon_after) {
    return {.slots = 3, .job_timeout = 1h, .cancel_grace = 5s, .abandon_after = abandon_after};
}

/// Queues a job whose client leaves at once.
JobId abandon_job(Gate& gate) {
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    return job;
}

/// Sends a job at the moment of its deadline. It ends in the same turn.
JobId send_too_late(Gate& gate) {
    const JobId job = gate.arrive({.timeout = 1s});
    gate.tell_after(1s, BodyCompleted{job, Bytes{10}});
    return job;
}

/// The answer to the job comes after this time. What was due before comes after it, in the same turn.
void ends_late(Gate& gate, JobId job, Duration time) {
    const SendJob& sent = gate.sent(job);
    gate.tell_after(time, AttemptEnded{sent.worker, sent.attempt, Verdict::answered});
}

/// Checks that the worker is killed after exactly this time.
void expect_killed_after(Gate& gate, Duration time, const char* deed = "kill w0 job_abandoned") {
    gate.pass(time - 1ns);
    EXPECT_THAT(gate.deeds(), Each(Not(HasSubstr("kill"))));
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre(deed));
}

TEST(AbandonClock, StartsAgainForAJobThatEndsAsSoonAsItIsSent) {
    Gate gate(pool_with(10s));
    gate.open();
    abandon_job(gate);
    gate.pass(4s);
    const JobId brief = send_too_late(gate);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w0", "end j1 deadline_passed"));
    gate.ends(brief);
    expect_killed_after(gate, 10s + 5s);
}

TEST(AbandonClock, KnowsTheUsualTimeWhenItStartsAgain) {
    PoolSettings settings = pool_with(0s);
    settings.slow_samples_min = 2;
    Gate gate(settings);
    gate.open();
    abandon_job(gate);
    gate.ends(gate.queue_job());
    gate.pass(1s);
    gate.ends(abandon_job(gate));
    gate.ends(send_too_late(gate));
    expect_killed_after(gate, 5s + 5s);
}

TEST(AbandonClock, StopsForAJobThatComesWhenItHasRunOut) {
    Gate gate(pool_with(10s));
    gate.open();
    abandon_job(gate);
    gate.pass(9s);
    gate.ends(send_too_late(gate));
    expect_killed_after(gate, 10s + 5s);
}

TEST(AbandonClock, GoesOnWhenAnAsideIsAbandonedToo) {
    Gate gate(pool_with(0s));
    gate.open();
    abandon_job(gate);
    gate.pass(10s);
    gate.queue_job({.timeout = 10s, .is_aside = true});
    expect_killed_after(gate, 20s + 5s);
}

TEST(AbandonClock, DoesNotCountAnAsideThatIsAbandonedJustAfterItsStart) {
    Gate gate(pool_with(0s));
    gate.open();
    abandon_job(gate);
    const JobId other = gate.queue_job();
    gate.pass(10s);
    gate.queue_job({.timeout = 5s, .is_aside = true});
    ends_late(gate, other, 5s);
    expect_killed_after(gate, 15s + 5s);
}

TEST(AbandonClock, StartsAgainForAnAsideAfterTheLastAbandonedJobHasEnded) {
    Gate gate(pool_with(10s));
    gate.open();
    const JobId job = abandon_job(gate);
    gate.queue_job({.timeout = 5s, .is_aside = true});
    ends_late(gate, job, 5s);
    expect_killed_after(gate, 10s + 5s);
}

TEST(AbandonClock, StartsAgainForAnAsideThatIsAbandonedWhenItHasRunOut) {
    Gate gate(pool_with(10s));
    gate.open();
    abandon_job(gate);
    gate.queue_job({.timeout = 10s, .is_aside = true});
    gate.pass(10s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 deadline_passed", "cancel j1 on w0"));
    expect_killed_after(gate, 10s + 5s);
}

TEST(AbandonClock, CountsAnAttemptThatReachesJobTimeoutJustAfterItsStart) {
    PoolSettings settings = pool_with(0s);
    settings.job_timeout = 20s;
    Gate gate(settings);
    gate.open();
    const JobId first = gate.queue_job();
    gate.pass(5s);
    abandon_job(gate);
    gate.pass(14s);
    gate.moves(first);
    gate.tell_after(6s, ClientLeft{first});
    expect_killed_after(gate, 10s + 5s, "kill w0 job_stuck");
}

}  // namespace
}  // namespace turnpike
