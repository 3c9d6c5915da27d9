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

    /// Lets a job of client 1 kill two workers. Its length differs from all others, so that it is not
    /// taken for one of them.
    void poison() {
        const JobId job = gate.queue_job({.bytes = Bytes{100 + ++poisons_}, .client = 1});
        while (!gate.ended(job)) {
            gate.dies(gate.sent(job).worker);
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
    gate.queue_job({.client = 1});
    EXPECT_THAT(gate.acts<ReportSuspect>(), IsEmpty());
    poison();
    EXPECT_FALSE(gate.client(1).is_suspected) << "it takes three again";
}

TEST_F(Suspicion, LastsLongerWithEachPoison) {
    poison(), poison(), poison();
    gate.pass(8min);
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
    gate.queue_job({.client = 1});
    EXPECT_THAT(gate.acts<ReportSuspect>(), IsEmpty());
}

TEST_F(Suspicion, SparesTheOnlyClient) {
    gate.tell(ClientForgotten{ClientId{2}});
    poison(), poison(), poison();
    EXPECT_FALSE(gate.client(1).is_suspected);
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
