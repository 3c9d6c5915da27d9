// What a worker announces when it is ready: how many jobs it takes at once, and whether it brought
// an example (worker.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr WorkerReady with_example{.has_example = true};

// ── slots and batch ──────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, TakesAsManyJobsAtOnceAsItSays) {
    Gate gate({.lanes = 1});
    gate.open({.slots = 2, .batch = 3});
    EXPECT_EQ(gate.lane(0).slots, 2U);
    EXPECT_EQ(gate.lane(0).batch, 3U);
    const auto jobs = gate.queue_jobs(6);
    EXPECT_TRUE(gate.is_running(jobs[1])) << "in the second slot";
    EXPECT_TRUE(gate.is_queued(jobs[2]));
    gate.ends(jobs[0]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j2 to w0 1/3",
                                          "send j3 to w0 2/3", "send j4 to w0 3/3"));
}

TEST(NativeWorker, UsesThePoolsNumbersWhereItAnnouncesNothing) {
    Gate gate({.lanes = 2, .slots = 2, .batch = 4});
    gate.tell(GateOpened{});
    EXPECT_EQ(gate.lane(0).slots, 2U) << "before it is ready";
    gate.comes_up(0, {.slots = 3});
    gate.comes_up(1, {.batch = 1});
    EXPECT_EQ(gate.lane(0).slots, 3U);
    EXPECT_EQ(gate.lane(0).batch, 4U);
    EXPECT_EQ(gate.lane(1).slots, 2U);
    EXPECT_EQ(gate.lane(1).batch, 1U);
}

TEST(NativeWorker, TakesNoMoreThanTheEngineHasRoomFor) {
    Gate gate({.lanes = 1});
    gate.open({.slots = slots_max + 1, .batch = ~std::uint32_t{0}});
    EXPECT_EQ(gate.lane(0).slots, slots_max);
    EXPECT_EQ(gate.lane(0).batch, batch_max);
}

TEST(NativeWorker, TakesOneJobWhereACancelKillsIt) {
    Gate gate({.lanes = 1, .cancel = CancelPolicy::kill});
    gate.open({.slots = 4, .batch = 8});
    EXPECT_EQ(gate.lane(0).slots, 1U);
    const auto jobs = gate.queue_jobs(3);
    EXPECT_TRUE(gate.is_queued(jobs[1]));
    gate.ends(jobs[0]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j1 to w0"));
}

TEST(NativeWorker, IgnoresASecondAnnouncement) {
    Gate gate({.lanes = 1});
    gate.open({.slots = 2});
    const JobId job = gate.queue_job();
    gate.tell(WorkerReady{.worker = gate.current(0), .slots = 5, .has_example = true});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.lane(0).slots, 2U);
    EXPECT_EQ(gate.lane(0).slots_free, 1U);
    EXPECT_FALSE(gate.pool().has_proof);
    EXPECT_TRUE(gate.is_running(job));
}

TEST(NativeWorker, MayTakeMoreThanItsNeighbour) {
    Gate gate({.lanes = 2});
    gate.tell(GateOpened{});
    gate.comes_up(0, {.slots = 1});
    gate.comes_up(1, {.slots = 3});
    const auto jobs = gate.queue_jobs(5);
    EXPECT_EQ(gate.lane_of(jobs[0]), LaneId{1}) << "most free slots";
    EXPECT_EQ(gate.lane(0).aboard, 1U);
    EXPECT_EQ(gate.lane(1).aboard, 3U);
    EXPECT_TRUE(gate.is_queued(jobs[4]));
}

TEST(NativeWorker, LeavesItsSuccessorTheSlotsThatItNoLongerHolds) {
    Gate gate({.lanes = 1});
    gate.open({.slots = 4});
    const auto old = gate.queue_jobs(3);
    gate.reload(2);
    gate.comes_up(gate.other(0), {.slots = 2});
    EXPECT_EQ(gate.lane(0).slots, 2U);
    EXPECT_EQ(gate.lane(0).slots_free, 0U) << "three are aboard the old worker";
    const JobId job = gate.queue_job();
    gate.ends(old[0]);
    EXPECT_TRUE(gate.is_queued(job)) << "and still two";
    gate.ends(old[1]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "send j3 to w1"));
}

TEST(NativeWorker, CountsInTheExpectedWaitWithItsOwnSlots) {
    Gate gate({.lanes = 2});
    gate.tell(GateOpened{});
    gate.comes_up(0, {.slots = 3});
    gate.comes_up(1);
    const JobId first = gate.queue_job();
    gate.pass(8s);
    gate.ends(first);
    gate.queue_jobs(4 + 5);
    EXPECT_EQ(gate.pool().expected_wait, 12s) << "(5 + 1) × 8 s ÷ 4";
}

TEST(NativeWorker, ThatSharesMakesSuspectsRideAlone) {
    Gate gate({.lanes = 2});
    gate.tell(GateOpened{});
    gate.comes_up(0, {.slots = 2});
    const auto jobs = gate.queue_jobs(2);
    gate.comes_up(1);
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 exited", "send j0 to w1"));
    EXPECT_TRUE(gate.lane(1).is_reserved);
    EXPECT_TRUE(gate.is_queued(jobs[1]));
}

TEST(NativeWorker, ThatTakesOneJobIsReservedForASuspectToo) {
    Gate gate({.lanes = 3, .slots = 4});
    gate.open({.slots = 1});
    const JobId job = gate.queue_job();
    gate.exits(gate.sent(job).worker);
    EXPECT_EQ(gate.lane_of(job), LaneId{1});
    EXPECT_TRUE(gate.lane(1).is_reserved);
}

// ── an example ───────────────────────────────────────────────────────────────────────────────────

TEST(Example, IsAskedBeforeTheFirstJob) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    const JobId job = gate.queue_job();
    EXPECT_FALSE(gate.pool().has_proof);
    gate.tell(WorkerReady{.worker = gate.current(0), .has_example = true});
    EXPECT_THAT(gate.turn(), ElementsAre("prove w0", "lane 0 proving proof_due"));
    EXPECT_TRUE(gate.pool().has_proof);
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Example, RestartsALaneOnceThatGetsItWrongThenQuarantinesIt) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    for (const LaneState after : {LaneState::loading, LaneState::quarantined}) {
        const WorkerId worker = gate.current(0);
        gate.tell(WorkerReady{.worker = worker, .has_example = true});
        gate.fails_proof(worker);
        EXPECT_THAT(gate.deeds(), Contains("stop " + gate.name(worker) + " proof_failed"));
        gate.dies(worker);
        gate.pass(1s);
        if (!gate.current(0).is_none()) gate.tell(WorkerStarted{gate.current(0)});
        EXPECT_EQ(gate.state(0), after);
    }
    EXPECT_EQ(gate.reason(0), Reason::proof_failed);
    EXPECT_TRUE(gate.pool().has_proof) << "as it was when a worker was last loaded";
}

TEST(Example, IsAskedAgainNowAndThenAndWhenAPersonWants) {
    Gate gate({.lanes = 2, .proof_every = 10min});
    gate.tell(GateOpened{});
    gate.comes_up(0, with_example);
    gate.comes_up(1);
    gate.pass(10min);
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0")) << "the other has none";
    gate.passes_proof(gate.current(0));
    gate.tell(ProveAsked{PoolId{0}});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(Example, IsAskedAfterMemoryRanOut) {
    Gate gate({.lanes = 1});
    gate.open(with_example);
    const JobId job = gate.queue_job();
    const JobId next = gate.queue_job();
    gate.ends(job, Verdict::out_of_memory);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 out_of_memory", "prove w0"));
    EXPECT_TRUE(gate.is_queued(next));
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(next));
}

TEST(Example, IsAskedInsteadOfARestAfterAStreakOfFailures) {
    Gate gate({.lanes = 2, .fail_streak = 3});
    gate.open(with_example);
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j2 model_failed", "prove w0"));
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(Example, IsAskedAfterADoubt) {
    Gate gate({.lanes = 1});
    gate.open(with_example);
    const JobId job = gate.queue_job();
    gate.leave_probes_to_me();
    gate.ends(job, Verdict::broken);
    gate.answers_probe(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
}

TEST(Example, BelongsToTheWorkerThatBroughtIt) {
    Gate gate({.lanes = 1});
    gate.open(with_example);
    gate.dies(0);
    EXPECT_TRUE(gate.pool().has_proof) << "while nobody says otherwise";
    gate.pass(1s);
    gate.comes_up(0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_FALSE(gate.pool().has_proof);
    gate.tell(ProveAsked{PoolId{0}});
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Example, ProvesTheCodeOfAReload) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.reload(2);
    const WorkerId next = gate.other(0);
    gate.tell(WorkerReady{.worker = next, .has_example = true});
    EXPECT_FALSE(gate.pool().has_proof) << "those that serve have none";
    gate.fails_proof(next);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w1 proof_failed", "reload g2 abandoned"));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Example, ChangesNothingWhereThePoolHasAProof) {
    Gate gate({.lanes = 2, .proof = ProofKind::agree});
    gate.open(with_example);
    gate.tell(ProveAsked{PoolId{0}});
    gate.votes(gate.current(0), 1);
    gate.votes(gate.current(1), 2);
    EXPECT_TRUE(gate.pool().is_majority_missing) << "they still vote";
}

// ── progress ─────────────────────────────────────────────────────────────────────────────────────

TEST(Progress, RenewsTheTimeOfAJobWhoseAnswerHasNotBegun) {
    Gate gate({.lanes = 2, .job_timeout = 10s});
    gate.open();
    const JobId job = gate.queue_job();
    gate.pass(9s);
    gate.moves(job);
    gate.pass(9s);
    EXPECT_TRUE(gate.is_running(job));
    gate.dies(gate.sent(job).worker);
    EXPECT_EQ(gate.lane_of(job), LaneId{1}) << "nothing of the answer has left: it is retried";
    gate.pass(10s);
    EXPECT_EQ(gate.ended(job), EndReason::ran_too_long);
}

}  // namespace
}  // namespace turnpike
