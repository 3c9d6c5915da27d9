#include "core/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Attempt, IsSentWithItsNumberItsLaneAndItsWorker) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job();
    const JobId job = gate.queue_job();
    const SendJob& sent = gate.sent(job);
    EXPECT_EQ(sent.worker, gate.current(1));
    EXPECT_EQ(sent.lane, LaneId{1});
    EXPECT_EQ(sent.number, 1U);
    EXPECT_EQ(sent.batch_index, 0U);
    EXPECT_EQ(sent.batch_size, 1U);
}

TEST(Attempt, EndsItsJobWithWhatTheWorkerSays) {
    Gate gate({.lanes = 1, .fail_streak = 100});
    gate.open();
    for (const auto& [verdict, reason] : {
             std::pair{Verdict::answered, EndReason::answered},
             std::pair{Verdict::bad_input, EndReason::bad_input},
             std::pair{Verdict::model_failed, EndReason::model_failed},
             std::pair{Verdict::non_finite, EndReason::non_finite},
             std::pair{Verdict::out_of_memory, EndReason::out_of_memory},
             std::pair{Verdict::cancelled, EndReason::model_failed},  // though nobody asked
         }) {
        const JobId job = gate.queue_job();
        gate.ends(job, verdict);
        EXPECT_EQ(gate.ended(job), reason) << name_of(verdict);
    }
    EXPECT_EQ(gate.lane(0).finished, 2U);
    EXPECT_EQ(gate.lane(0).failed, 4U);
    EXPECT_EQ(gate.pool().counts, (Counts{.finished = 2, .failed = 4}));
}

TEST(Attempt, IsNotRepeatedWhenTheModelFails) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 model_failed"));
}

TEST(Attempt, TakesItsSlotUntilTheWorkerIsDoneWithIt) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId gone = gate.queue_job();
    const JobId next = gate.queue_job();
    gate.tell(ClientLeft{gone});
    EXPECT_TRUE(gate.is_queued(next));
    EXPECT_EQ(gate.lane(0).aboard, 1U);
    gate.ends(gone);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w0"));
}

// ── answers at the wrong time or from the wrong worker ───────────────────────────────────────────

TEST(Attempt, DropsASecondAnswer) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job);
    gate.ends(job, Verdict::model_failed);
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Attempt, DropsTheLateAnswerOfADeadWorker) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    const SendJob old = gate.sent(job);
    gate.exits(old.worker);
    ASSERT_EQ(gate.lane_of(job), LaneId{1}) << "retried elsewhere";
    gate.tell(AttemptEnded{old.worker, old.attempt});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "from a stopping worker";
    gate.becomes_gone(old.worker);
    gate.tell(AttemptEnded{old.worker, old.attempt});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "from a worker that is gone";
    gate.tell(AttemptEnded{gate.sent(job).worker, old.attempt});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "an old attempt is late, whoever tells";
    gate.ends(job);
    EXPECT_EQ(gate.acts<EndJob>().front().attempts, 2U);
}

TEST(Attempt, IgnoresADeadWorkerThatNamesItsSuccessorsAttempt) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    const WorkerId dead = gate.sent(job).worker;
    gate.exits(dead);
    gate.tell(AttemptEnded{dead, gate.sent(job).attempt});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Attempt, IsMisbehaviourIfAnotherWorkerNamesIt) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(AttemptEnded{gate.current(1), gate.sent(job).attempt});
    EXPECT_THAT(gate.turn(), ElementsAre("kill w1 misbehaved", "lane 1 backoff misbehaved"));
    EXPECT_TRUE(gate.is_running(job)) << "its own worker goes on";
}

TEST(Attempt, OfAnotherWorkerCanNeitherBeBegunNorMoved) {
    Gate gate({.lanes = 3});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(AnswerBegun{gate.current(1), gate.sent(job).attempt});
    EXPECT_EQ(gate.reason(1), Reason::misbehaved);
    gate.tell(AnswerMoved{gate.current(2), gate.sent(job).attempt});
    EXPECT_EQ(gate.reason(2), Reason::misbehaved);
    gate.dies(0);
    EXPECT_TRUE(gate.is_queued(job)) << "nothing of its answer had left";
}

TEST(Attempt, IgnoresEventsAboutAttemptsThatNeverExisted) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.tell(AttemptEnded{gate.current(0), AttemptId{12345}});
    gate.tell(AnswerBegun{gate.current(0), AttemptId{}});
    gate.tell(AnswerMoved{WorkerId{99}, AttemptId{}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

// ── time ─────────────────────────────────────────────────────────────────────────────────────────

TEST(Attempt, RunsForJobTimeout) {
    Gate gate({.lanes = 1, .job_timeout = 10s});
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(10s - 1ns);
    EXPECT_TRUE(gate.is_running(job));
    gate.pass(1ns);
    EXPECT_EQ(gate.ended(job), EndReason::ran_too_long);
    EXPECT_EQ(gate.pool().counts.timed_out, 1U);
}

TEST(Attempt, HasItsTimeRenewedByEveryPartOfTheAnswer) {
    Gate gate({.lanes = 1, .job_timeout = 10s});
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(9s);
    gate.begins(job);
    gate.pass(9s);
    gate.moves(job);
    gate.pass(10s - 1ns);
    EXPECT_TRUE(gate.is_running(job));
    gate.pass(1ns);
    EXPECT_EQ(gate.ended(job), EndReason::ran_too_long);
}

TEST(Attempt, CountsItsTimeFromItsOwnStart) {
    Gate gate({.lanes = 1, .job_timeout = 10s});
    gate.open();
    const JobId first = gate.queue_job();
    const JobId second = gate.queue_job();
    gate.pass(9s);
    gate.ends(first);
    gate.pass(9s);
    EXPECT_TRUE(gate.is_running(second)) << "waiting is not running";
}

/// Ten jobs of 2 s each.
void get_used_to_2s(Gate& gate) {
    gate.open();
    for (int i = 0; i < 10; ++i) {
        const JobId job = gate.queue_job();
        gate.pass(2s);
        gate.ends(job);
    }
}

TEST(Attempt, IsReportedOnceWhenItRunsFarOverTheUsualTime) {
    Gate gate({.lanes = 1, .slow_factor = 8, .slow_min = 1s});
    get_used_to_2s(gate);
    const JobId job = gate.queue_job();
    gate.pass(16s - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("slow j10"));
    const ReportSlowJob report = gate.acts<ReportSlowJob>().front();
    EXPECT_EQ(report.usual, 2s);
    EXPECT_EQ(report.attempt, gate.sent(job).attempt);
    EXPECT_EQ(report.worker, gate.sent(job).worker);
    gate.pass(200s);
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "once";
    EXPECT_TRUE(gate.is_running(job)) << "it only flags";
    gate.pass(84s);
    EXPECT_EQ(gate.ended(job), EndReason::ran_too_long) << "300 s after it was sent";
}

TEST(Attempt, IsNotSlowBeforeTheMinimumHoweverQuickJobsUsuallyAre) {
    Gate gate({.lanes = 1, .slow_factor = 8, .slow_min = 60s});
    get_used_to_2s(gate);
    gate.queue_job();
    gate.pass(59s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("slow j10"));
}

TEST(Attempt, IsCheckedForSlownessWheneverItsRunTimeHasDoubled) {
    Gate gate({.lanes = 1, .slow_factor = 8, .slow_min = 3s});
    get_used_to_2s(gate);
    gate.queue_job();
    gate.pass(24s - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "not at 3, 6 and 12 s";
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("slow j10"));
}

TEST(Attempt, IsJudgedByWhatIsUsualNowNotWhenItWasSent) {
    Gate gate({.lanes = 2, .slow_factor = 15, .slow_min = 1s});
    gate.open();
    gate.queue_job({.lane = 0});
    for (int i = 0; i < 10; ++i) {
        const JobId quick = gate.queue_job({.lane = 1});
        gate.pass(100ms);
        gate.ends(quick);
    }
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("slow j0")) << "after 2 s; jobs take 100 ms";
}

TEST(Attempt, IsNotSlowBeforeTheUsualTimeIsKnown) {
    Gate gate({.lanes = 1, .slow_samples_min = 11});
    get_used_to_2s(gate);
    gate.queue_job();
    gate.pass(250s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Attempt, IsNotReportedSlowWhenNobodyWaitsForIt) {
    Gate gate({.lanes = 1});
    get_used_to_2s(gate);
    gate.tell(ClientLeft{gate.queue_job()});
    gate.pass(100s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 job_abandoned"));
}

TEST(Attempt, TeachesTheUsualTimeOnlyByAnswers) {
    Gate gate({.lanes = 1, .fail_streak = 100});
    get_used_to_2s(gate);
    ASSERT_EQ(gate.pool().usual_run, 2s);
    for (const Verdict verdict :
         {Verdict::bad_input, Verdict::model_failed, Verdict::out_of_memory}) {
        gate.ends(gate.queue_job(), verdict);
        EXPECT_EQ(gate.pool().usual_run, 2s) << name_of(verdict);
    }
    gate.ends(gate.queue_job({.is_aside = true}));
    EXPECT_EQ(gate.pool().usual_run, 2s) << "an aside is no job";
    gate.ends(gate.queue_job());
    EXPECT_LT(gate.pool().usual_run, 2s);
}

}  // namespace
}  // namespace turnpike
