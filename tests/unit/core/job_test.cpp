#include "core/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Job, LivesFromAdmissionToItsOneAnswer) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.arrive();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j0"));
    gate.tell(BodyCompleted{job, Bytes{10}});
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w0"))
        << "a free lane takes it in the same event";
    gate.ends(job);
    const auto end = gate.acts<EndJob>();
    ASSERT_EQ(end.size(), 1U);
    EXPECT_EQ(end[0].reason, EndReason::answered);
    EXPECT_EQ(end[0].attempt, gate.sent(job).attempt);
    EXPECT_EQ(end[0].attempts, 1U);
    EXPECT_EQ(end[0].lane, LaneId{0});
    EXPECT_EQ(gate.view().jobs, 0U);
    EXPECT_EQ(gate.pool().counts.finished, 1U);
}

TEST(Job, EndsWhenItsClientLeavesWhileArriving) {
    Gate gate({.lanes = 1});
    const JobId job = gate.arrive();
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 client_left"));
    EXPECT_TRUE(gate.acts<EndJob>().front().attempt.is_none()) << "it never ran";
    EXPECT_EQ(gate.pool().arriving, 0U);
    EXPECT_EQ(gate.pool().counts.cancelled, 1U);
}

TEST(Job, TellsAClientThatLeftFromOneThatWasCutOff) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId slow = gate.queue_job();
    gate.tell(ClientLeft{slow, Departure::too_slow});
    EXPECT_EQ(gate.ended(slow), EndReason::client_too_slow);
    const JobId greedy = gate.arrive();
    gate.tell(ClientLeft{greedy, Departure::answers_full});
    EXPECT_EQ(gate.ended(greedy), EndReason::answers_full);
    EXPECT_EQ(gate.pool().counts.cancelled, 2U);
    const JobId lost = gate.arrive();
    gate.tell(ClientLeft{lost, Departure::answer_lost});
    EXPECT_EQ(gate.ended(lost), EndReason::answer_lost);
    EXPECT_EQ(gate.pool().counts.failed, 1U);
}

TEST(Job, EndsWhenItsClientLeavesWhileQueued) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId running = gate.queue_job();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 client_left"));
    gate.ends(running);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered")) << "nothing is left to send";
}

TEST(Job, EndsAtOnceWhenCancelledInEveryState) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId running = gate.queue_job();
    const JobId queued = gate.queue_job();
    const JobId arriving = gate.arrive();
    for (const JobId job : {arriving, queued, running}) {
        gate.tell(CancelAsked{job});
        EXPECT_EQ(gate.ended(job), EndReason::cancel_asked) << gate.name(job);
    }
    EXPECT_EQ(gate.pool().counts.cancelled, 3U);
    EXPECT_EQ(gate.view().jobs, 0U);
    EXPECT_EQ(gate.pool().running, 0U);
    EXPECT_EQ(gate.view().attempts, 1U) << "the worker is not done with it";
}

TEST(Job, EndsOnceHoweverOftenItIsEnded) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(CancelAsked{job});
    gate.tell(CancelAsked{job});
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.ends(job);
    EXPECT_THAT(gate.acts<EndJob>(), IsEmpty()) << "nobody waits for the answer";
}

// ── time ─────────────────────────────────────────────────────────────────────────────────────────

TEST(Job, EndsAfterTheLongestWait) {
    Gate gate({.lanes = 1, .queue_wait_max = 1min});
    const JobId job = gate.queue_job();
    gate.pass(1min - 1ns);
    EXPECT_TRUE(gate.is_queued(job));
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 waited_too_long"));
    EXPECT_EQ(gate.acts<EndJob>().front().retry_after, 1s);
    EXPECT_EQ(gate.pool().counts.timed_out, 1U);
}

TEST(Job, WaitsInTheQueueOnlySinceItWasQueued) {
    Gate gate({.lanes = 1, .queue_wait_max = 1min});
    const JobId job = gate.arrive();
    gate.pass(50s);
    gate.tell(BodyCompleted{job, Bytes{10}});
    gate.pass(50s);
    EXPECT_TRUE(gate.is_queued(job)) << "a slow upload is no wait in the queue";
    gate.pass(10s);
    EXPECT_EQ(gate.ended(job), EndReason::waited_too_long);
}

TEST(Job, WaitsAnewWhenItIsQueuedAnew) {
    Gate gate({.lanes = 1, .queue_wait_max = 1min});
    gate.tell(GateOpened{});
    const JobId job = gate.queue_job();
    gate.pass(50s);
    gate.comes_up(0);
    gate.dies(0);
    gate.pass(59s);
    EXPECT_TRUE(gate.is_queued(job));
    gate.pass(1s);
    EXPECT_EQ(gate.ended(job), EndReason::waited_too_long);
}

TEST(Job, DoesNotWaitTooLongWhileItRuns) {
    Gate gate({.lanes = 1, .queue_wait_max = 1min});
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(2min);
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Job, EndsAtItsDeadlineInEveryState) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId running = gate.queue_job({.timeout = 30s});
    const JobId queued = gate.queue_job({.timeout = 30s});
    const JobId arriving = gate.arrive({.timeout = 30s});
    gate.pass(30s - 1ns);
    EXPECT_EQ(gate.view().jobs, 3U);
    gate.pass(1ns);
    for (const JobId job : {running, queued, arriving})
        EXPECT_EQ(gate.ended(job), EndReason::deadline_passed) << gate.name(job);
    EXPECT_EQ(gate.pool().counts.timed_out, 3U);
    EXPECT_EQ(gate.pool().arriving + gate.pool().queued + gate.pool().running, 0U);
}

TEST(Job, CountsItsDeadlineFromArrivalThroughEveryRetry) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job({.timeout = 30s});
    gate.pass(20s);
    gate.dies(0);
    gate.pass(5s);
    gate.comes_up(0);
    ASSERT_TRUE(gate.is_running(job));
    gate.pass(5s);
    EXPECT_EQ(gate.ended(job), EndReason::deadline_passed);
}

TEST(Job, NamesItsDeadlineWhenBothTimesComeTogether) {
    Gate gate({.lanes = 1, .queue_wait_max = 30s});
    const JobId job = gate.queue_job({.timeout = 30s});
    gate.pass(30s);
    EXPECT_EQ(gate.ended(job), EndReason::deadline_passed);
}

TEST(Job, EndsAtOnceWithATimeoutOfZero) {
    Gate gate({.lanes = 1});
    const JobId zero = gate.arrive({.timeout = 0s});
    EXPECT_EQ(gate.ended(zero), EndReason::deadline_passed);
    const JobId negative = gate.arrive({.timeout = -5s});
    EXPECT_EQ(gate.ended(negative), EndReason::deadline_passed);
}

TEST(Job, TakesAnAnswerThatComesTogetherWithItsDeadline) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job({.timeout = 30s});
    gate.pass(30s - 1ns);
    gate.tell_after(1ns, AttemptEnded{gate.sent(job).worker, gate.sent(job).attempt});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered"));
}

// ── no lane ──────────────────────────────────────────────────────────────────────────────────────

TEST(Job, EndsWhenItsPoolCanNeverServeAnyMore) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_jobs(2);
    const JobId queued = gate.queue_job();
    const JobId arriving = gate.arrive();
    gate.drain(0);
    EXPECT_TRUE(gate.is_queued(queued)) << "one lane is left";
    gate.drain(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j2 no_lane"));
    EXPECT_EQ(gate.acts<EndJob>().front().retry_after, 1s);
    gate.tell(BodyCompleted{arriving, Bytes{10}});
    EXPECT_EQ(gate.ended(arriving), EndReason::no_lane);
    EXPECT_EQ(gate.pool().running, 2U) << "drained lanes finish their jobs";
}

TEST(Job, EndsWhenTheLaneItWantsCanNeverServeAnyMore) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_jobs(2);
    const JobId wants_0 = gate.queue_job({.lane = 0});
    const JobId wants_1 = gate.queue_job({.lane = 1});
    gate.drain(0);
    EXPECT_EQ(gate.ended(wants_0), EndReason::no_lane);
    EXPECT_TRUE(gate.is_queued(wants_1));
}

TEST(Job, WaitsForALaneThatMayStillComeBack) {
    Gate gate({.lanes = 1, .crash_limit = 2});
    gate.tell(GateOpened{});
    gate.dies(0);
    const JobId job = gate.queue_job();
    EXPECT_TRUE(gate.is_queued(job)) << "in backoff";
    gate.pass(1s);
    gate.dies(0);
    EXPECT_EQ(gate.ended(job), EndReason::no_lane) << "failed";
}

TEST(Job, OfAnotherPoolIsNotAffected) {
    Gate gate(test::settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.tell(GateOpened{});
    const JobId here = gate.queue_job({.pool = 0});
    const JobId there = gate.queue_job({.pool = 1});
    gate.drain(0);
    EXPECT_EQ(gate.ended(here), EndReason::no_lane);
    EXPECT_TRUE(gate.is_queued(there));
    gate.comes_up(1);
    EXPECT_EQ(gate.lane_of(there), LaneId{1});
}

}  // namespace
}  // namespace turnpike
