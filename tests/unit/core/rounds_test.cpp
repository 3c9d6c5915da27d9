#include "core/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include <string>
#include <vector>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::Request;
using test::settings_with;
using testing::ElementsAre;

/// A gate whose only lane is busy with a job of client 9, so that every further job waits.
class BusyGate {
public:
    explicit BusyGate(PoolSettings pool = {.lanes = 1}) : gate(pool) {
        gate.open();
        running_ = gate.queue_job({.client = 9});
    }

    JobId queue(std::uint64_t client, Request request = {}) {
        request.client = client;
        return gate.queue_job(request);
    }

    /// Ends the running job after some time, and so on until none waits. Returns the names of the jobs
    /// in the order in which they are sent.
    std::vector<std::string> order(Duration each = Duration::zero()) {
        std::vector<std::string> names;
        while (true) {
            gate.pass(each);
            gate.ends(running_);
            const auto sends = gate.acts<SendJob>();
            if (sends.empty()) return names;
            running_ = sends.front().job;
            names.push_back(gate.name(running_));
        }
    }

    Gate gate;

private:
    JobId running_;
};

TEST(Rounds, LetClientsOfALevelTakeTurns) {
    BusyGate busy;
    busy.queue(1), busy.queue(1), busy.queue(1);  // j1 j2 j3
    busy.queue(2), busy.queue(2);                 // j4 j5
    busy.queue(3);                                // j6
    EXPECT_THAT(busy.order(), ElementsAre("j1", "j4", "j6", "j2", "j5", "j3"));
}

TEST(Rounds, SendAClientThatComesBackToTheEndOfTheRing) {
    BusyGate busy;
    busy.queue(1), busy.queue(1);  // j1 j2
    const JobId leaves = busy.queue(2);
    busy.queue(3);  // j4
    busy.gate.tell(ClientLeft{leaves});
    busy.queue(2);  // j5
    EXPECT_THAT(busy.order(), ElementsAre("j1", "j4", "j5", "j2"));
}

TEST(Rounds, CountAPriorityAgainstOthersOnlyUpToItsMaximum) {
    BusyGate busy;
    busy.queue(1, {.priority = 5});
    busy.queue(2, {.priority = 9, .limits = {.priority_max = {5}}});
    busy.queue(3, {.priority = 9, .limits = {.priority_max = {9}}});
    EXPECT_THAT(busy.order(), ElementsAre("j3", "j1", "j2"));
}

TEST(Rounds, LetAClientOrderItsOwnJobsByAllLevels) {
    BusyGate busy;
    busy.queue(1, {.priority = 5});
    busy.queue(1, {.priority = 7});
    busy.queue(1, {.priority = 9});
    busy.queue(2);
    EXPECT_THAT(busy.order(), ElementsAre("j3", "j4", "j2", "j1"));
}

TEST(Rounds, ServeAHigherLevelFirstUnlessALowerOneHasWaitedLonger) {
    BusyGate busy({.lanes = 1, .age_step = 10s});
    const ClientLimits high{.priority_max = {6}};
    busy.queue(1, {.priority = 5});
    busy.gate.pass(10s);
    busy.queue(2, {.priority = 6, .limits = high});
    EXPECT_THAT(busy.order(), ElementsAre("j2", "j1")) << "of equals the higher level";
    BusyGate later({.lanes = 1, .age_step = 10s});
    later.queue(1, {.priority = 5});
    later.gate.pass(10s + 1ms);
    later.queue(2, {.priority = 6, .limits = high});
    EXPECT_THAT(later.order(), ElementsAre("j1", "j2"));
}

TEST(Rounds, LetNoFloodGrowOld) {
    BusyGate busy({.lanes = 1, .age_step = 10s});
    for (int i = 0; i < 4; ++i) busy.queue(1, {.priority = 5});  // j1 … j4
    busy.gate.pass(1min);
    busy.queue(2, {.priority = 6, .limits = {.priority_max = {6}}});
    EXPECT_THAT(busy.order(), ElementsAre("j1", "j5", "j2", "j3", "j4"))
        << "after its turn the flood is young again";
}

TEST(Rounds, FillABatchInTurns) {
    BusyGate busy({.lanes = 1, .batch = 3});
    busy.queue(1), busy.queue(1), busy.queue(1);
    busy.queue(2);
    busy.gate.ends(JobId{0});
    EXPECT_THAT(busy.gate.deeds(), ElementsAre("end j0 answered", "send j1 to w0 1/3",
                                               "send j4 to w0 2/3", "send j2 to w0 3/3"));
}

TEST(Rounds, LetRetriesGoFirstAndTakeNoTurn) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId lost = gate.queue_job({.client = 1});
    gate.queue_job({.client = 1}), gate.queue_job({.client = 2});
    gate.ends(lost, Verdict::undelivered);
    EXPECT_TRUE(gate.is_running(lost)) << "once a probe was answered";
    gate.ends(lost);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j1 to w0"))
        << "client 1 still has its turn";
}

// ── jobs that ask for a lane ─────────────────────────────────────────────────────────────────────

TEST(Rounds, LetPinnedJobsTakeTurnsWithThoseOfOthers) {
    BusyGate busy;
    busy.queue(1), busy.queue(2), busy.queue(1);             // j1 j2 j3
    for (int i = 0; i < 3; ++i) busy.queue(3, {.lane = 0});  // j4 j5 j6
    EXPECT_THAT(busy.order(1ms), ElementsAre("j1", "j2", "j4", "j3", "j5", "j6"));
}

TEST(Rounds, ChargeAPinnedJobToItsClient) {
    BusyGate busy;
    busy.queue(1);                                           // j1
    for (int i = 0; i < 3; ++i) busy.queue(1, {.lane = 0});  // j2 j3 j4
    busy.queue(2), busy.queue(2);                            // j5 j6
    EXPECT_THAT(busy.order(1ms), ElementsAre("j1", "j5", "j2", "j6", "j3", "j4"));
}

TEST(Rounds, LetClientsTakeTurnsAtALane) {
    BusyGate busy;
    for (int i = 0; i < 3; ++i) busy.queue(1, {.lane = 0});  // j1 j2 j3
    busy.queue(2, {.lane = 0}), busy.queue(2, {.lane = 0});  // j4 j5
    busy.queue(3, {.lane = 0}), busy.queue(3);               // j6 j7
    EXPECT_THAT(busy.order(1ms), ElementsAre("j7", "j1", "j4", "j6", "j2", "j5", "j3"));
}

TEST(Rounds, LetAPinnedJobWaitForATurnLikeAnyOther) {
    BusyGate busy;
    busy.queue(2), busy.queue(1);  // j1 j2
    busy.gate.pass(1ms);
    busy.queue(3), busy.queue(1, {.lane = 0});  // j3 j4
    EXPECT_THAT(busy.order(1ms), ElementsAre("j1", "j2", "j3", "j4"))
        << "client 1 had its turn with j2";
}

TEST(Rounds, LetNoPinnedJobStarveBehindOtherJobsOfItsClient) {
    Gate gate({.lanes = 2, .age_step = 10s});
    gate.open();
    std::array running{gate.queue_job({.client = 1}), gate.queue_job({.client = 2})};
    ASSERT_EQ(gate.lane_of(running[1]), LaneId{1});
    for (int i = 0; i < 2; ++i) gate.queue_job({.client = 1}), gate.queue_job({.client = 2});
    const JobId pinned = gate.queue_job({.lane = 1, .client = 1});
    int ends = 0;
    for (; !gate.is_running(pinned) && ends < 100; ++ends) {  // lane 1 frees when it is 2's turn
        gate.pass(500ms);
        JobId& ended = running[static_cast<std::size_t>(ends % 2)];
        gate.ends(ended);
        ended = gate.acts<SendJob>().front().job;
        gate.queue_job({.client = ends % 2 == 0 ? 1U : 2U});
    }
    EXPECT_LE(ends, 24) << "after 10 s its client's other turns no longer hold it back";
    EXPECT_GT(ends, 18) << "until then it is a turn like any other";
}

TEST(Rounds, CountNoMoreOfAPinnedJobsPriorityThanItsClientMayHave) {
    BusyGate busy;
    busy.queue(1, {.priority = 5, .lane = 0}), busy.queue(2, {.priority = 9, .lane = 0});
    EXPECT_THAT(busy.order(), ElementsAre("j1", "j2"));
}

TEST(Rounds, GiveJobsOfManyLevelsNoMoreTurnsThanThoseOfOne) {
    BusyGate busy({.lanes = 1, .age_step = 1s});
    for (std::uint8_t level = 0; level < 5; ++level) busy.queue(1, {.priority = level});  // j1 … j5
    for (int i = 0; i < 3; ++i) busy.queue(1, {.priority = 5});  // j6 j7 j8
    for (int i = 0; i < 3; ++i) busy.queue(2, {.priority = 5});  // j9 j10 j11
    EXPECT_THAT(busy.order(10s),
                ElementsAre("j6", "j9", "j7", "j10", "j8", "j11", "j5", "j4", "j3", "j2", "j1"));
}

TEST(Rounds, KeepAPlaceAtTheLaneForAnotherClient) {
    BusyGate busy;
    for (std::uint32_t i = 0; i < wanting_lane_max - 1; ++i) busy.queue(1, {.lane = 0});
    busy.gate.arrive({.lane = 0, .client = 1});
    EXPECT_EQ(busy.gate.refusal(), EndReason::lane_queue_full);
    busy.gate.arrive({.lane = 0, .client = 2});
    EXPECT_EQ(busy.gate.refusal(), std::nullopt);
}

TEST(Rounds, LetFewJobsWaitForALane) {
    BusyGate busy;
    for (std::uint32_t i = 0; i < wanting_lane_max - 1; ++i) busy.queue(1, {.lane = 0});
    const JobId last = busy.gate.arrive({.lane = 0, .client = 2});
    EXPECT_EQ(busy.gate.refusal(), std::nullopt);
    busy.gate.arrive({.lane = 0, .client = 3});
    EXPECT_EQ(busy.gate.refusal(), EndReason::lane_queue_full) << "those that arrive count, too";
    busy.gate.arrive({.lane = 0, .is_aside = true, .client = 3});
    EXPECT_EQ(busy.gate.refusal(), std::nullopt) << "asides don't wait";
    busy.gate.arrive({.client = 3});
    EXPECT_EQ(busy.gate.refusal(), std::nullopt);
    busy.gate.tell(ClientLeft{last});
    busy.gate.arrive({.lane = 0, .client = 3});
    EXPECT_EQ(busy.gate.refusal(), std::nullopt);
}

// ── the expected wait ────────────────────────────────────────────────────────────────────────────

TEST(Rounds, TellAClientTheWaitForItsOwnNextTurn) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 10}});
    Gate gate(settings);
    gate.open();
    const JobId first = gate.queue_job({.client = 1});
    gate.pass(8s);
    gate.ends(first);
    for (int i = 0; i < 10; ++i) gate.queue_job({.client = 1});
    EXPECT_EQ(gate.pool().queued, 9U);
    EXPECT_EQ(gate.engine().expected_wait(PoolId{0}, ClientId{1}), 80s) << "(9 + 1) × 8 s";
    EXPECT_EQ(gate.engine().expected_wait(PoolId{0}, ClientId{2}), 16s)
        << "one round: (1 + 1) × 8 s";
    EXPECT_EQ(gate.pool().expected_wait, 80s) << "behind all others";
    gate.queue_job({.client = 1});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full) << "the tenth place is not for one alone";
    EXPECT_EQ(gate.acts<RefuseJob>().front().retry_after, 80s);
    gate.arrive({.client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.arrive({.client = 3});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full);
    EXPECT_EQ(gate.acts<RefuseJob>().front().retry_after, 16s);
}

}  // namespace
}  // namespace turnpike
