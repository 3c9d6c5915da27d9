// The members of a batch: they share a slot and a worker, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

/// One lane with one slot. `members` waited for `blocker` and were sent together; `next` still
/// waits.
struct BatchOfThree {
    explicit BatchOfThree(PoolSettings settings = {}) : gate(settings) {
        gate.open({.batch = 3});
        const JobId blocker = gate.queue_job();
        members = gate.queue_jobs(3);
        gate.ends(blocker);
        next = gate.queue_job();
    }
    Gate gate;
    std::vector<JobId> members;
    JobId next;
};

TEST(Batch, EndsEachMemberByItsOwnVerdict) {
    BatchOfThree scene;
    Gate& gate = scene.gate;
    gate.ends(scene.members[1], Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j2 model_failed"));
    gate.ends(scene.members[2], Verdict::bad_input);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j3 bad_input"));
    gate.ends(scene.members[0]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "send j4 to w0"))
        << "only now the slot is free";
}

TEST(Batch, GoesOnWhenAMemberIsCancelled) {
    BatchOfThree scene({.cancel = CancelPolicy::close});
    Gate& gate = scene.gate;
    gate.tell(CancelAsked{scene.members[0]});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 cancel_asked", "cancel j1 on w0"));
    gate.ends(scene.members[1]);
    gate.ends(scene.members[2]);
    EXPECT_TRUE(gate.is_queued(scene.next)) << "the cancelled one still holds the slot";
    gate.ends(scene.members[0], Verdict::cancelled);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j4 to w0"));
}

TEST(Batch, GoesOnWhenAMembersOwnTimeIsOver) {
    Gate gate({.cancel = CancelPolicy::close});
    gate.open({.batch = 2});
    const JobId blocker = gate.queue_job();
    gate.queue_job({.timeout = 2s});
    const JobId patient = gate.queue_job();
    gate.ends(blocker);
    gate.pass(2s);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 deadline_passed", "cancel j1 on w0"));
    gate.ends(patient);
    EXPECT_EQ(gate.ended(patient), EndReason::answered);
}

TEST(Batch, LetsAMemberThatStillMovesOutliveTheTimeoutOfTheOthers) {
    BatchOfThree scene({.job_timeout = 10s, .cancel = CancelPolicy::close, .cancel_grace = 5s});
    Gate& gate = scene.gate;
    gate.pass(9s);
    gate.moves(scene.members[2]);
    gate.pass(7s);
    EXPECT_EQ(gate.ended(scene.members[0]), EndReason::ran_too_long);
    EXPECT_EQ(gate.ended(scene.members[1]), EndReason::ran_too_long);
    EXPECT_EQ(gate.reason(0), Reason::job_stuck);
    EXPECT_TRUE(gate.is_running(scene.members[2])) << "no timeout harms a neighbour";
    gate.ends(scene.members[2]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j3 answered", "kill w0 job_stuck"));
}

TEST(Batch, IsRetriedMemberByMemberAloneWhenOneSaysThatTheWorkerIsUnhealthy) {
    BatchOfThree scene;
    Gate& gate = scene.gate;
    const SendJob first = gate.sent(scene.members[0]);
    const SendJob second = gate.sent(scene.members[1]);
    gate.tell(AttemptEnded{first.worker, first.attempt, Verdict::unhealthy});
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 unhealthy"));
    gate.tell(AttemptEnded{second.worker, second.attempt, Verdict::unhealthy});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "the others' word comes too late to count";
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(0, {.batch = 3});
    EXPECT_THAT(gate.deeds(), ElementsAre("send j1 to w1"));
    for (const JobId member : scene.members) {
        EXPECT_TRUE(gate.is_running(member));
        gate.ends(member);
    }
    EXPECT_TRUE(gate.is_running(scene.next)) << "after all that had to ride alone";
}

TEST(Batch, IsNotPoisonForWhatItsWorkerSaidWhileItWasShared) {
    BatchOfThree scene({.lanes = 1, .crash_limit = 16});
    Gate& gate = scene.gate;
    const JobId bad = scene.members[0];
    for (int deaths = 0; deaths < 2; ++deaths) {
        EXPECT_EQ(gate.ended(bad), std::nullopt);
        gate.ends(bad, Verdict::unhealthy);
        gate.dies(0);
        gate.pass(10s);
        gate.comes_up(0, {.batch = 3});
        if (deaths == 0) continue;
        EXPECT_TRUE(gate.is_running(scene.members[1])) << "the innocent have their turn";
        gate.ends(scene.members[1]);
        gate.ends(scene.members[2]);
    }
    EXPECT_TRUE(gate.is_running(bad));
    gate.ends(bad, Verdict::unhealthy);
    EXPECT_EQ(gate.ended(bad), EndReason::poison) << "its second death alone";
}

TEST(Batch, ThatRanOutOfMemoryAsksForOneProofWhenAllOfItHasEnded) {
    Gate gate({.lanes = 1});
    gate.open({.batch = 2, .has_example = true});
    const JobId blocker = gate.queue_job();
    const auto members = gate.queue_jobs(2);
    gate.ends(blocker);
    gate.ends(members[0], Verdict::out_of_memory);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 out_of_memory")) << "its neighbour is aboard";
    gate.ends(members[1], Verdict::out_of_memory);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j2 out_of_memory", "prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Batch, OfALaneThatFailsEverythingSwallowsNoMoreThanItself) {
    Gate gate({.lanes = 2, .restart_delay_min = 10s, .restart_delay_max = 10s, .fail_streak = 3});
    gate.open({.batch = 4});
    const auto blockers = gate.queue_jobs(2);
    const auto jobs = gate.queue_jobs(12);
    gate.ends(blockers[1], Verdict::answered);
    ASSERT_EQ(gate.lane_of(jobs[0]), LaneId{1});
    gate.ends(blockers[0], Verdict::model_failed);
    ASSERT_EQ(gate.lane_of(jobs[4]), LaneId{0});
    for (std::size_t i = 4; i < 8; ++i) gate.ends(jobs[i], Verdict::model_failed);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
    for (std::size_t i = 8; i < 12; ++i) EXPECT_TRUE(gate.is_queued(jobs[i]));
    for (std::size_t i = 0; i < 4; ++i) gate.ends(jobs[i]);
    EXPECT_EQ(gate.lane_of(jobs[8]), LaneId{1}) << "the lane that works takes the rest";
}

}  // namespace
}  // namespace turnpike
