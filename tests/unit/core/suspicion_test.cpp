// Clients whose jobs kill workers again and again, and clients whose jobs fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/client.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::distrusting;
using test::Gate;
using test::settings_with;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Two lanes with two slots. Client 2 is honest.
class Suspicion : public testing::Test {
protected:
    Suspicion() : gate(settings()) {
        gate.open();
        gate.ends(gate.queue_job({.client = 2}));
    }

    static Settings settings() {
        Settings settings = settings_with({{.lanes = 2, .slots = 2, .crash_limit = 16}});
        settings.suspicion_keep = 10min;
        return settings;
    }

    void comes_up() {
        gate.pass(35s);
        for (const std::uint64_t lane : {0U, 1U})
            if (gate.state(lane) == LaneState::starting) gate.comes_up(lane);
    }

    void answer_honest_job() { gate.ends(gate.queue_job({.client = 2})); }

    /// Lets a job of client 1 kill two workers. Its length differs from all others, so that it is not
    /// taken for one of them.
    void poison(std::uint64_t client = 1) {
        const JobId job = gate.queue_job({.bytes = Bytes{100 + ++poisons_}, .client = client});
        while (!gate.ended(job)) {
            gate.dies(gate.sent(job).worker);
            if (!gate.acts<HashJob>().empty()) gate.hashed(job, poisons_);
            comes_up();
        }
        ASSERT_EQ(gate.ended(job), EndReason::poison);
    }

    Gate gate;

private:
    std::uint64_t poisons_ = 0;
};

TEST_F(Suspicion, BeginsWithTheThirdPoison) {
    poison(), poison();
    EXPECT_FALSE(gate.client(1).is_suspected);
    poison();
    EXPECT_TRUE(gate.client(1).is_suspected);
    EXPECT_FALSE(gate.client(2).is_suspected);
}

TEST_F(Suspicion, LetsEachJobRideAlone) {
    poison(), poison(), poison();
    answer_honest_job();
    const JobId first = gate.queue_job({.client = 1});
    EXPECT_THAT(gate.deeds(), Contains("suspect " + gate.name(first)));
    ASSERT_TRUE(gate.is_running(first));
    EXPECT_TRUE(gate.lane(gate.lane_of(first).value).is_reserved);
    const JobId second = gate.queue_job({.client = 1});
    EXPECT_TRUE(gate.is_queued(second)) << "one at a time";
    const JobId honest = gate.queue_job({.client = 2});
    ASSERT_TRUE(gate.is_running(honest));
    EXPECT_NE(gate.lane_of(honest), gate.lane_of(first));
    gate.ends(first);
    EXPECT_TRUE(gate.is_running(second));
}

TEST_F(Suspicion, EndsAfterTenMinutesWithoutAPoison) {
    poison(), poison(), poison();
    gate.pass(10min - 36s);
    EXPECT_TRUE(gate.client(1).is_suspected);
    gate.pass(36s);
    EXPECT_FALSE(gate.client(1).is_suspected);
    answer_honest_job();
    gate.ends(gate.queue_job({.client = 1}));
    EXPECT_THAT(gate.acts<ReportSuspect>(), IsEmpty());
    poison();
    EXPECT_FALSE(gate.client(1).is_suspected) << "it takes three again";
}

TEST_F(Suspicion, LastsLongerWithEachPoison) {
    poison(), poison(), poison();
    gate.pass(8min);
    answer_honest_job();
    poison();
    gate.pass(9min);
    EXPECT_TRUE(gate.client(1).is_suspected);
}

TEST_F(Suspicion, NeedsPoisonsWithinTenMinutes) {
    poison(), gate.pass(9min), poison(), poison();
    EXPECT_FALSE(gate.client(1).is_suspected);
}

TEST_F(Suspicion, IsForgottenWithTheClient) {
    poison(), poison(), poison();
    gate.tell(ClientForgotten{ClientId{1}});
    answer_honest_job();
    gate.queue_job({.client = 1});
    EXPECT_THAT(gate.acts<ReportSuspect>(), IsEmpty());
}

TEST_F(Suspicion, MattersOnlyWhileAnotherClientUsesThePool) {
    poison(), poison(), poison();
    answer_honest_job();
    gate.pass(1min);
    gate.ends(gate.queue_job({.client = 1}));
    EXPECT_THAT(gate.acts<ReportSuspect>(), IsEmpty()) << "there is nobody else to protect";
    answer_honest_job();
    const JobId next = gate.queue_job({.client = 1});
    EXPECT_THAT(gate.deeds(), Contains("suspect " + gate.name(next)));
}

TEST_F(Suspicion, DoesNotBeginIfEveryJobKillsItsWorker) {
    for (const std::uint64_t client : {3U, 4U, 5U}) poison(client);
    poison(), poison(), poison();
    EXPECT_FALSE(gate.client(1).is_suspected) << "it is the model";
}

TEST_F(Suspicion, DoesNotBeginIfTheLaneMayBeTheCause) {
    gate.tell(DrainAsked{LaneId{1}});
    for (int i = 0; i < 4; ++i) poison();
    EXPECT_FALSE(gate.client(1).is_suspected) << "both deaths of each were on lane 0";
}

TEST_F(Suspicion, EndsWithNewCode) {
    poison(), poison(), poison();
    gate.tell(RestartAsked{LaneId{0}});
    EXPECT_FALSE(gate.client(1).is_suspected);
}

TEST_F(Suspicion, LetsOneJobAtATimeRideAloneAlsoOfThoseThatAskForALane) {
    poison(), poison(), poison();
    answer_honest_job();
    const JobId first = gate.queue_job({.lane = 0, .client = 1});
    ASSERT_TRUE(gate.is_running(first));
    EXPECT_TRUE(gate.lane(0).is_reserved);
    const JobId second = gate.queue_job({.lane = 0, .client = 1});
    const JobId shared = gate.queue_job({.client = 1});
    const JobId third = gate.queue_job({.lane = 1, .client = 1});
    EXPECT_TRUE(gate.is_queued(second) && gate.is_queued(shared) && gate.is_queued(third));
    EXPECT_TRUE(gate.is_running(gate.queue_job({.client = 2})));
    EXPECT_TRUE(gate.is_running(gate.queue_job({.lane = 1, .client = 2}))) << "it passes the third";
    gate.ends(first);
    EXPECT_EQ(gate.acts<ReportSuspect>().size(), 1U);
}

TEST_F(Suspicion, ProtectsAJobThatRunsForLong) {
    poison(), poison(), poison();
    const JobId honest = gate.queue_job({.client = 2});
    gate.pass(2min);
    const JobId bad = gate.queue_job({.client = 1});
    EXPECT_THAT(gate.deeds(), Contains("suspect " + gate.name(bad)));
    ASSERT_TRUE(gate.is_running(honest) && gate.is_running(bad));
    EXPECT_NE(gate.lane_of(honest), gate.lane_of(bad));
}

// ── jobs that fail ───────────────────────────────────────────────────────────────────────────────

/// Lane 0 fails jobs of these clients one after another, lane 1 is fine.
void fail_on_lane_0(Gate& gate, const std::vector<std::uint64_t>& clients,
                    std::optional<std::uint64_t> wanted = {}) {
    gate.open();
    const JobId good = gate.queue_job({.lane = 1, .client = 9});
    for (const std::uint64_t client : clients) {
        const JobId job = gate.queue_job({.lane = wanted, .client = client});
        ASSERT_EQ(gate.lane_of(job), LaneId{0});
        gate.ends(job, Verdict::model_failed);
    }
    gate.ends(good);
}

TEST(FailStreak, OfOneClientIsNoReasonToDistrustALane) {
    Gate gate(distrusting());
    fail_on_lane_0(gate, {1, 1, 1, 1, 1});
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(FailStreak, OfTwoClientsIs) {
    Gate gate(distrusting());
    fail_on_lane_0(gate, {1, 1, 2});
    EXPECT_EQ(gate.state(0), LaneState::backoff);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(FailStreak, OfOneClientIsIfNoOtherUsesThePool) {
    Gate gate(distrusting());
    gate.open();
    const JobId good = gate.queue_job({.lane = 1, .client = 9});
    gate.ends(good);
    gate.pass(1min);
    const JobId busy = gate.queue_job({.lane = 1, .client = 1});
    for (int i = 0; i < 3; ++i) gate.ends(gate.queue_job({.client = 1}), Verdict::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::backoff);
    gate.ends(busy);
}

TEST(FailStreak, WaitsForASecondClient) {
    Gate gate(distrusting());
    fail_on_lane_0(gate, {1, 1, 1, 1, 2});
    EXPECT_EQ(gate.state(0), LaneState::backoff);
}

TEST(FailStreak, DoesNotCountJobsThatAskForTheLane) {
    Gate gate(distrusting());
    fail_on_lane_0(gate, {1, 2, 1, 2, 1, 2}, 0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

}  // namespace
}  // namespace turnpike
