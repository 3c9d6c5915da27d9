// Failed lanes try again (lane.cpp, restart.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::fail_lane_1;
using test::Gate;
using test::job_on;
using test::proving;
using test::replace_worker;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// The crashes that failed a lane are outside the window when it tries again.
PoolSettings two_lanes() {
    return {.lanes = 2, .crash_limit = 2, .crash_window = 1min, .revive_every = 5min};
}

/// Lane 1 of two has failed. Its new worker is starting, or serves.
struct Trying {
    explicit Trying(const PoolSettings& settings = two_lanes()) : gate(settings) {
        fail_lane_1(gate);
        gate.pass(5min);
    }
    Gate gate;
};
struct OnParole : Trying {
    OnParole() { gate.comes_up(1); }
};

// ── the try ──────────────────────────────────────────────────────────────────────────────────────

TEST(Revival, ComesAfterItsTimeAndNotEarlier) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    EXPECT_EQ(gate.lane(1).next_try, 5min);
    gate.pass(5min - 1ns);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    EXPECT_EQ(gate.lane(1).next_try, 1ns);
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 1 with g1"));
}

TEST(Revival, IsAnnouncedWhenTheLaneFails) {
    Gate gate({.lanes = 2, .crash_limit = 1, .revive_every = 7min});
    gate.open();
    gate.exits(gate.current(1));
    const auto reports = gate.acts<ReportLane>();
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(reports.front().state, LaneState::failed);
    EXPECT_EQ(reports.front().next_try, 7min);
    EXPECT_EQ(gate.lane(0).next_try, Duration::zero());
}

TEST(Revival, LeavesTheLaneFailedUntilItServes) {
    Trying scene;
    Gate& gate = scene.gate;
    const auto expect_still_failed = [&] {
        EXPECT_EQ(gate.state(1), LaneState::failed);
        EXPECT_EQ(gate.reason(1), Reason::trying_again);
        EXPECT_EQ(gate.lane(1).next_try, Duration::zero());
        gate.arrive({.lane = 1});
        EXPECT_EQ(gate.refusal(), EndReason::no_lane);
    };
    expect_still_failed();
    gate.tell(WorkerStarted{gate.current(1)});
    EXPECT_THAT(gate.turn(), IsEmpty());
    expect_still_failed();
    gate.tell(WorkerReady{gate.current(1)});
    EXPECT_THAT(gate.turn(), ElementsAre("lane 1 ready"));
    EXPECT_TRUE(gate.is_running(gate.queue_job({.lane = 1})));
}

TEST(Revival, TellsEachTryAndWhenTheNextIs) {
    Trying scene;
    Gate& gate = scene.gate;
    const auto last_report = [&] { return gate.acts<ReportLane>().back(); };
    EXPECT_EQ(last_report().reason, Reason::trying_again);
    gate.exits(gate.current(1));
    EXPECT_EQ(last_report().state, LaneState::failed);
    EXPECT_EQ(last_report().reason, Reason::crashed_too_often);
    EXPECT_EQ(last_report().next_try, 5min);
}

TEST(Revival, ComesOnlyAfterTheProof) {
    Trying scene(proving(2));
    Gate& gate = scene.gate;
    gate.tell(WorkerStarted{gate.current(1)}), gate.tell(WorkerReady{gate.current(1)});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w3"));
    EXPECT_EQ(gate.state(1), LaneState::failed);
    gate.passes_proof(gate.current(1));
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(Revival, TellsClientsWhenToComeBack) {
    Gate gate({.lanes = 2, .crash_limit = 1, .revive_every = 5min});
    gate.tell(GateOpened{});
    gate.dies(0);
    gate.pass(1min);
    gate.dies(1);
    const auto advice = [&](test::Request request) {
        gate.arrive(request);
        EXPECT_EQ(gate.refusal(), EndReason::no_lane);
        return gate.acts<RefuseJob>().front().retry_after;
    };
    EXPECT_EQ(advice({}), 4min) << "lane 0 is the first to try";
    EXPECT_EQ(advice({.lane = 1}), 5min);
    gate.pass(4min);
    EXPECT_EQ(advice({}), 1s) << "lane 0 is trying; no advice is shorter";
    EXPECT_EQ(advice({.lane = 1}), 1min);
}

TEST(Revival, TellsJobsThatWaitedWhenToComeBack) {
    Gate gate({.lanes = 1, .crash_limit = 1, .revive_every = 5min});
    gate.tell(GateOpened{});
    gate.queue_job();
    gate.dies(0);
    ASSERT_THAT(gate.acts<EndJob>(), SizeIs(1));
    EXPECT_EQ(gate.acts<EndJob>().front().reason, EndReason::no_lane);
    EXPECT_EQ(gate.acts<EndJob>().front().retry_after, 5min);
}

TEST(Revival, IsTriedAgainAndAgain) {
    Trying scene;
    Gate& gate = scene.gate;
    for (int tries = 0; tries < 3; ++tries) {
        gate.tell(WorkerStarted{gate.current(1)});
        gate.pass(1s);
        gate.exits(gate.current(1));
        EXPECT_EQ(gate.state(1), LaneState::failed);
        EXPECT_EQ(gate.reason(1), Reason::crashed_too_often);
        ASSERT_THAT(gate.acts<ReportLane>(), SizeIs(1)) << "it has a new time";
        EXPECT_EQ(gate.acts<ReportLane>().front().next_try, 5min);
        gate.becomes_gone(gate.current(1));
        gate.pass(5min - 1ns);
        EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
        gate.pass(1ns);
        ASSERT_THAT(gate.acts<StartWorker>(), SizeIs(1));
    }
}

TEST(Revival, EndsInQuarantineAfterTwoWrongAnswers) {
    Trying scene(proving(2));
    Gate& gate = scene.gate;
    for (const LaneState state : {LaneState::failed, LaneState::quarantined}) {
        gate.tell(WorkerStarted{gate.current(1)}), gate.tell(WorkerReady{gate.current(1)});
        gate.fails_proof(gate.current(1));
        EXPECT_EQ(gate.state(1), state);
        gate.dies(1);
        gate.pass(5min);
    }
    EXPECT_EQ(gate.reason(1), Reason::proof_failed);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
}

TEST(Revival, WaitsForTheMemoryOfTheDeadWorker) {
    Gate gate({.lanes = 2, .crash_limit = 1, .revive_every = 5min});
    gate.open();
    gate.exits(gate.current(1));
    gate.becomes_gone(gate.current(1), Memory::held);
    gate.pass(10min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    EXPECT_EQ(gate.state(1), LaneState::failed);
    gate.tell(MemoryFreed{LaneId{1}});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 1 with g1"));
}

TEST(Revival, DoesNotComeToAQuarantinedLane) {
    Gate gate(two_lanes());
    gate.open();
    gate.tell(GpuLost{LaneId{1}});
    gate.dies(1);
    EXPECT_EQ(gate.lane(1).next_try, Duration::zero());
    gate.pass(1h);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
}

// ── parole ───────────────────────────────────────────────────────────────────────────────────────

TEST(Revival, IsOverAfterOneCrashBeforeAGoodRun) {
    OnParole scene;
    Gate& gate = scene.gate;
    gate.pass(1min - 1ns);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::failed);
    EXPECT_EQ(gate.lane(1).next_try, 5min);
}

TEST(Revival, IsCompleteAfterAGoodRun) {
    OnParole scene;
    Gate& gate = scene.gate;
    gate.pass(1min);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff);
    gate.pass(1s);
    gate.comes_up(1);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::failed) << "by crash_limit";
}

TEST(Revival, IsOverWhenTheLaneIsChargedWithADeathUnderAJob) {
    OnParole scene;
    Gate& gate = scene.gate;
    const JobId job = test::job_on(gate, 1);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff);
    gate.ends(job);
    EXPECT_EQ(gate.state(1), LaneState::failed);
}

TEST(Revival, SurvivesADeathForWhichNobodyIsCharged) {
    OnParole scene;
    Gate& gate = scene.gate;
    gate.queue_job({.lane = 1, .is_aside = true});
    replace_worker(gate, 1);
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

// ── orders meanwhile ─────────────────────────────────────────────────────────────────────────────

TEST(Revival, IsNoLongerTriedWhenAPersonRestartsTheLane) {
    Trying scene;
    Gate& gate = scene.gate;
    gate.restart(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 restart_asked"));
    gate.dies(1);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 1 with g1"));
    gate.comes_up(1);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "its history is cleared";
}

TEST(Revival, IsLeftToAPersonsDrain) {
    Trying scene;
    Gate& gate = scene.gate;
    gate.drain(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w3 drain_asked"));
    gate.dies(1);
    gate.pass(1h);
    EXPECT_EQ(gate.state(1), LaneState::drained);
}

TEST(Revival, IsOverWhenTheGpuIsLost) {
    Trying scene;
    Gate& gate = scene.gate;
    gate.tell(GpuLost{LaneId{1}});
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    gate.dies(1);
    gate.pass(1h);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
}

TEST(Revival, IsNotTriedDuringAShutdown) {
    Gate gate(two_lanes());
    fail_lane_1(gate);
    gate.queue_job({.lane = 0});
    gate.shut_down(10min);
    gate.pass(5min);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    Trying scene;
    scene.gate.shut_down(1min);
    scene.gate.dies(1);
    scene.gate.dies(0);
    EXPECT_THAT(scene.gate.deeds(), Contains("leave"));
}

TEST(Parole, IsNotBrokenByADeathFromBeforeTheLaneFailed) {
    PoolSettings settings = two_lanes();
    settings.job_timeout = 1h;
    Gate gate(settings);
    gate.open();
    const JobId job = job_on(gate, 1);
    replace_worker(gate, 1);
    ASSERT_EQ(gate.lane_of(job), LaneId{0}) << "it rides again there";
    replace_worker(gate, 1);
    gate.dies(1);
    ASSERT_EQ(gate.state(1), LaneState::failed);
    gate.pass(5min);
    gate.comes_up(1);
    ASSERT_EQ(gate.state(1), LaneState::ready);
    gate.ends(job);
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(Parole, IsOverAfterAGoodRunThatADrainEnded) {
    OnParole scene;
    Gate& gate = scene.gate;
    gate.pass(2min);
    gate.tell(DrainAsked{LaneId{1}});
    gate.dies(1);
    gate.tell(ResumeAsked{LaneId{1}});
    gate.comes_up(1);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff);
}

TEST(Parole, ForgetsTheOldCrashesAfterAGoodRun) {
    PoolSettings settings = two_lanes();
    settings.crash_window = 1h;
    Gate gate(settings);
    fail_lane_1(gate);
    gate.pass(5min);
    gate.comes_up(1);
    gate.pass(1min);
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "one crash in its new life";
}

TEST(Revival, WaitsUntilTheOldWorkerHasFinishedItsJobs) {
    Gate gate({.lanes = 2, .slots = 2, .job_timeout = 1h, .crash_limit = 1});
    gate.open();
    const JobId suspect = job_on(gate, 1);
    replace_worker(gate, 1);
    const JobId last = job_on(gate, 1);
    gate.ends(suspect);
    ASSERT_EQ(gate.state(1), LaneState::failed);
    ASSERT_TRUE(gate.is_running(last));
    gate.pass(6min);
    gate.ends(last);
    gate.dies(1);
    EXPECT_FALSE(gate.current(1).is_none()) << "its time had come";
}

}  // namespace
}  // namespace turnpike
