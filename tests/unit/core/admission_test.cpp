#include "core/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Admission, AdmitsAndHandsTheTicketBack) {
    Gate gate({.lanes = 1});
    gate.tell(JobArrived{.ticket = Ticket{77}, .pool = PoolId{0}});
    const auto admitted = gate.acts<AdmitJob>();
    ASSERT_EQ(admitted.size(), 1U);
    EXPECT_EQ(admitted[0].ticket, Ticket{77});
    EXPECT_EQ(gate.engine().find(admitted[0].job, gate.now())->state, JobState::arriving);
    EXPECT_EQ(gate.pool().arriving, 1U);
}

TEST(Admission, QueuesJobsWhileEveryLaneStillLoads) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    EXPECT_TRUE(gate.is_queued(gate.queue_job()));
}

TEST(Admission, RefusesAJobForAnUnknownPool) {
    Gate gate({.lanes = 1});
    gate.forgo_invariants();
    gate.arrive({.pool = 1});
    EXPECT_EQ(gate.refusal(), EndReason::no_lane);
}

TEST(Admission, RefusesALaneThatThePoolDoesNotHave) {
    Gate gate(settings_with({{.lanes = 2}, {.lanes = 1}}));
    gate.open();
    gate.arrive({.lane = 2});
    EXPECT_EQ(gate.refusal(), EndReason::lane_unknown) << "it is of the other pool";
    gate.arrive({.lane = 99});
    EXPECT_EQ(gate.refusal(), EndReason::lane_unknown) << "it does not exist";
    EXPECT_EQ(gate.acts<RefuseJob>().front().retry_after, 0s) << "trying again is no use";
    gate.arrive({.pool = 1, .lane = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

TEST(Admission, RefusesWhenNoLaneCanEverServe) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.drain(0);
    gate.arrive();
    EXPECT_EQ(gate.refusal(), std::nullopt) << "one lane is left";
    gate.arrive({.lane = 0});
    EXPECT_EQ(gate.refusal(), EndReason::no_lane) << "but not the wanted one";
    gate.tell(GpuLost{LaneId{1}});
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::no_lane);
}

TEST(Admission, RefusesWhenTheQueueIsFull) {
    Gate gate({.lanes = 1, .queue_jobs_max = 2});
    gate.queue_job();
    gate.arrive();
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::queue_full) << "one queued, one arriving";
    EXPECT_EQ(gate.pool().counts.refused, 1U);
}

TEST(Admission, CountsNeitherRunningJobsNorAsidesAgainstTheQueue) {
    Gate gate({.lanes = 1, .queue_jobs_max = 1});
    gate.open();
    gate.queue_job();  // runs
    gate.arrive({.is_aside = true});
    gate.arrive();
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.arrive({.is_aside = true});
    EXPECT_EQ(gate.refusal(), std::nullopt) << "an aside does not queue";
}

TEST(Admission, RefusesMoreUploadsThanTheGateTakesAtOnce) {
    Settings settings = settings_with({{.lanes = 1}, {.lanes = 1}});
    settings.arriving_max = 2;
    Gate gate(settings);
    const JobId first = gate.arrive();
    gate.arrive({.pool = 1, .is_aside = true});
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::arrivals_full) << "asides and other pools count";
    gate.tell(BodyCompleted{first, Bytes{10}});
    gate.arrive();
    EXPECT_EQ(gate.refusal(), std::nullopt) << "queued is no longer arriving";
}

TEST(Admission, RefusesBodiesThatDoNotFit) {
    Settings settings = settings_with({{.lanes = 1}, {.lanes = 1}});
    settings.bytes_max = Bytes{100};
    Gate gate(settings);
    gate.arrive({.bytes = Bytes{60}});
    gate.arrive({.pool = 1, .bytes = Bytes{41}});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full) << "the bound is the whole gate's";
    gate.arrive({.bytes = Bytes{40}});
    EXPECT_EQ(gate.refusal(), std::nullopt) << "exactly full";
}

TEST(Admission, RefusesABodyOfAnAbsurdSize) {
    Gate gate({.lanes = 1});
    gate.forgo_invariants();
    gate.arrive({.bytes = Bytes{10}});
    gate.arrive({.bytes = Bytes{~std::uint64_t{0}}});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full) << "no wrap-around";
}

TEST(Admission, RefusesEverythingWhileShuttingDown) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job();
    gate.shut_down(1h);
    gate.arrive({.lane = 99});
    EXPECT_EQ(gate.refusal(), EndReason::shutting_down) << "before any other reason";
}

TEST(Admission, GivesTheFirstOfSeveralReasons) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 1}});
    settings.arriving_max = 1;
    settings.bytes_max = Bytes{10};
    Gate gate(settings);
    gate.arrive();  // now the queue, the uploads and the bytes are full
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::queue_full);
    gate.arrive({.is_aside = true});
    EXPECT_EQ(gate.refusal(), EndReason::arrivals_full);
    gate.drain(0);
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::no_lane);
    gate.arrive({.lane = 1});
    EXPECT_EQ(gate.refusal(), EndReason::lane_unknown);
}

TEST(Admission, HoldsTheBytesOfALiveJobUntilItEnds) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId a = gate.queue_job({.bytes = Bytes{30}});
    const JobId b = gate.queue_job({.bytes = Bytes{12}});
    EXPECT_EQ(gate.view().bytes_held, Bytes{42});
    gate.ends(a);
    EXPECT_EQ(gate.view().bytes_held, Bytes{12});
    gate.tell(ClientLeft{b});
    EXPECT_EQ(gate.view().bytes_held, Bytes{0});
}

TEST(Admission, CountsAGrowingBodyByItsTotal) {
    Gate gate({.lanes = 1});
    const JobId job = gate.arrive({.bytes = Bytes{0}});
    gate.tell(BodyGrew{job, Bytes{500}});
    gate.tell(BodyGrew{job, Bytes{900}});
    EXPECT_EQ(gate.view().bytes_held, Bytes{900});
    gate.tell(BodyGrew{job, Bytes{100}});
    EXPECT_EQ(gate.view().bytes_held, Bytes{900}) << "totals only grow";
    gate.tell(BodyCompleted{job, Bytes{950}});
    EXPECT_EQ(gate.view().bytes_held, Bytes{950});
}

TEST(Admission, EndsAJobWhoseBodyOutgrowsTheGate) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.bytes_max = Bytes{100};
    Gate gate(settings);
    const JobId grown = gate.arrive({.bytes = Bytes{60}});
    gate.tell(BodyGrew{grown, Bytes{101}});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 bytes_full"));
    EXPECT_EQ(gate.view().bytes_held, Bytes{0});
    const JobId completed = gate.arrive({.bytes = Bytes{60}});
    gate.tell(BodyCompleted{completed, Bytes{101}});
    EXPECT_EQ(gate.ended(completed), EndReason::bytes_full);
    EXPECT_EQ(gate.pool().counts.refused, 2U);
    EXPECT_EQ(gate.pool().arriving, 0U);
}

TEST(Admission, IgnoresBodiesOfJobsThatNoLongerArrive) {
    Gate gate({.lanes = 1});
    const JobId job = gate.queue_job();
    gate.tell(BodyGrew{job, Bytes{500}});
    gate.tell(BodyCompleted{job, Bytes{500}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.view().bytes_held, Bytes{10});
    EXPECT_EQ(gate.pool().queued, 1U);
    gate.tell(ClientLeft{job});
    gate.tell(BodyCompleted{job, Bytes{10}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.view().bytes_held, Bytes{0});
}

TEST(Admission, IgnoresASecondCompletionWhileTheJobRuns) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId job = gate.queue_job();
    gate.tell(BodyCompleted{job, Bytes{10}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_TRUE(gate.is_running(job));
}

// ── the expected wait ────────────────────────────────────────────────────────────────────────────

/// Two lanes with two slots; a job takes 8 s.
Gate& after_a_job_of_8s(Gate& gate) {
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(8s);
    gate.ends(job);
    return gate;
}

TEST(Admission, ExpectsAWaitOfJobsAheadTimesSlotTimeOverServingSlots) {
    Gate gate({.lanes = 2, .slots = 2});
    after_a_job_of_8s(gate).queue_jobs(4 + 5);
    EXPECT_EQ(gate.pool().queued, 5U);
    EXPECT_EQ(gate.pool().expected_wait, 12s) << "(5 + 1) × 8 s ÷ 4";
}

TEST(Admission, CountsOnlySlotsOfLanesThatServe) {
    Gate gate({.lanes = 2, .slots = 2});
    after_a_job_of_8s(gate).queue_jobs(4);
    gate.dies(1);
    gate.pass(1s);
    ASSERT_EQ(gate.state(1), LaneState::starting);
    EXPECT_EQ(gate.pool().queued, 2U) << "two came back";
    EXPECT_EQ(gate.pool().expected_wait, 12s) << "(2 + 1) × 8 s ÷ 2";
}

TEST(Admission, CountsEverySlotWhileNoLaneServes) {
    Gate gate({.lanes = 2, .slots = 2});
    after_a_job_of_8s(gate);
    gate.dies(0), gate.dies(1);
    gate.queue_jobs(3);
    EXPECT_EQ(gate.pool().expected_wait, 8s) << "(3 + 1) × 8 s ÷ 4";
}

TEST(Admission, ExpectsNoWaitWhileALaneIsFree) {
    Gate gate({.lanes = 2, .slots = 2});
    after_a_job_of_8s(gate);
    EXPECT_EQ(gate.pool().expected_wait, 0s);
}

/// Returns the advice to a refused client when three jobs of 8 s wait for the only lane.
Duration advice_with(const Settings& settings) {
    Gate gate(settings);
    after_a_job_of_8s(gate).queue_jobs(4);
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::queue_full);
    return gate.acts<RefuseJob>().front().retry_after;
}

TEST(Admission, AdvisesToComeBackAfterTheExpectedWaitWithinBounds) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 3}});
    EXPECT_EQ(advice_with(settings), 32s) << "(3 + 1) × 8 s";
    settings.retry_after_max = 20s;
    EXPECT_EQ(advice_with(settings), 20s);
    settings.retry_after_max = 10min;
    settings.retry_after_min = 1min;
    EXPECT_EQ(advice_with(settings), 1min);
}

TEST(Admission, AdvisesJobsThatEndForLackOfRoomToo) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.bytes_max = Bytes{100};
    Gate gate(settings);
    const JobId job = gate.arrive();
    gate.tell(BodyGrew{job, Bytes{101}});
    EXPECT_EQ(gate.acts<EndJob>().front().retry_after, settings.retry_after_min);
    gate.tell(ClientLeft{gate.arrive()});
    EXPECT_EQ(gate.acts<EndJob>().front().retry_after, 0s) << "who left needs no advice";
}

TEST(Admission, EndsAJobWhoseBodyCanNotBeTaken) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.arrive();
    gate.tell(BodyFailed{job});
    EXPECT_EQ(gate.ended(job), EndReason::body_failed);
    EXPECT_EQ(gate.pool().counts.refused, 1U);
    const JobId running = gate.queue_job();
    gate.tell(BodyFailed{running});
    EXPECT_TRUE(gate.is_running(running)) << "its body was complete";
}

// ── a body that names another pool ───────────────────────────────────────────────────────────────

TEST(Admission, RoutesAnArrivingJobToThePoolThatItsBodyNames) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    const JobId job = gate.arrive({.pool = 0});
    gate.tell(JobRouted{job, PoolId{1}});
    EXPECT_EQ(gate.pool(0).arriving, 0U);
    EXPECT_EQ(gate.pool(1).arriving, 1U);
    gate.tell(BodyCompleted{job, Bytes{10}});
    EXPECT_EQ(gate.engine().find(job, gate.now())->lane, LaneId{1});
}

TEST(Admission, LetsThePoolThatAJobIsRoutedToRefuseIt) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 1, .queue_jobs_max = 1}}));
    gate.open();
    gate.queue_job({.pool = 1});
    gate.queue_job({.pool = 1});
    const JobId job = gate.arrive({.pool = 0});
    gate.tell(JobRouted{job, PoolId{1}});
    EXPECT_EQ(gate.ended(job), EndReason::queue_full);
    EXPECT_EQ(gate.pool(1).counts.refused, 1U);
    EXPECT_EQ(gate.pool(0).counts.refused, 0U);
}

TEST(Admission, RefusesAJobThatIsRoutedAwayFromTheLaneItWants) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    const JobId job = gate.arrive({.pool = 0, .lane = 0});
    gate.tell(JobRouted{job, PoolId{1}});
    EXPECT_EQ(gate.ended(job), EndReason::lane_unknown);
}

TEST(Admission, RoutesNeitherAQueuedJobNorToAnUnknownPool) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    const JobId arriving = gate.arrive({.pool = 0});
    gate.tell(JobRouted{arriving, PoolId{7}});
    const JobId running = gate.queue_job({.pool = 0});
    gate.tell(JobRouted{running, PoolId{1}});
    EXPECT_EQ(gate.pool(0).arriving, 1U);
    EXPECT_TRUE(gate.is_running(running));
    EXPECT_EQ(gate.pool(1).running, 0U);
}

}  // namespace
}  // namespace turnpike
