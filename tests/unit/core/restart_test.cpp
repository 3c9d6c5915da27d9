#include "core/restart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::delay_after_death;
using test::expect_about;
using test::Gate;
using test::settings_with;
using testing::ElementsAre;
using testing::IsEmpty;

/// Kills the worker of lane 0 and brings up the next one. Returns how long the lane waited.
Duration crash(Gate& gate) {
    const Duration delay = delay_after_death(gate, 0);
    gate.comes_up(0);
    return delay;
}

PoolSettings patient() {
    return {.restart_delay_min = 200ms,
            .restart_delay_max = 30s,
            .restart_good_run = 1min,
            .crash_limit = 16,
            .crash_window = 1s};
}

// ── delays ───────────────────────────────────────────────────────────────────────────────────────

TEST(Restart, DoublesItsDelayUpToTheMaximum) {
    Gate gate(patient());
    gate.open();
    for (Duration plain = 200ms; plain < 30s; plain *= 2) expect_about(crash(gate), plain);
    for (int i = 0; i < 3; ++i) expect_about(crash(gate), 30s);
}

TEST(Restart, ResetsItsDelayAfterAGoodRun) {
    Gate gate(patient());
    gate.open();
    for (int i = 0; i < 4; ++i) crash(gate);
    gate.pass(1min - 1ns);
    expect_about(crash(gate), 3200ms);
    gate.pass(1min);
    expect_about(crash(gate), 200ms);
}

TEST(Restart, DoesNotCountALongLoadAsAGoodRun) {
    Gate gate(patient());
    gate.open();
    crash(gate);
    gate.dies(0);
    gate.pass(1s);
    gate.tell(WorkerStarted{gate.current(0)});
    gate.pass(10min);
    expect_about(crash(gate), 800ms);
}

TEST(Restart, JittersByItsSeedOnly) {
    const auto delays = [](std::uint64_t seed) {
        Settings settings = settings_with({patient()});
        settings.seed = seed;
        Gate gate(settings);
        gate.open();
        return std::vector{crash(gate), crash(gate), crash(gate)};
    };
    EXPECT_EQ(delays(1), delays(1));
    EXPECT_NE(delays(1), delays(2));
}

TEST(Restart, SpreadsLanesThatCrashTogether) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.dies(0), gate.dies(1);
    const Instant first = gate.next_deadline();
    gate.pass(first - gate.now());
    EXPECT_THAT(gate.acts<StartWorker>(), testing::SizeIs(1));
}

// ── giving up ────────────────────────────────────────────────────────────────────────────────────

TEST(Restart, FailsALaneThatCrashedTooOften) {
    Gate gate({.lanes = 2, .crash_limit = 3, .crash_window = 10min, .revive_every = 2h});
    gate.open();
    crash(gate), crash(gate);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
    EXPECT_EQ(gate.reason(0), Reason::crashed_too_often);
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Restart, ForgivesCrashesThatAreLongerAgoThanTheWindow) {
    Gate gate({.lanes = 2,
               .restart_delay_min = 1ms,
               .restart_delay_max = 1ms,
               .crash_limit = 3,
               .crash_window = 10min});
    gate.open();
    for (int i = 0; i < 20; ++i) {
        crash(gate);
        gate.pass(5min);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready) << "never three within ten minutes";
    crash(gate);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Restart, CountsACrashAtTheVeryEdgeOfTheWindow) {
    Gate gate({.lanes = 2, .crash_limit = 2, .crash_window = 10min});
    gate.open();
    const Instant first = gate.now();
    crash(gate);
    gate.pass(first + 10min - gate.now());
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Restart, NeverGivesUpAnAttachedLane) {
    Gate gate({.lanes = 1, .ownership = Ownership::attached, .crash_limit = 2});
    gate.open();
    for (int i = 0; i < 20; ++i) crash(gate);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Restart, CountsEveryKindOfCrash) {
    struct Kind {
        Reason reason;
        std::function<void(Gate&)> happen;
    };
    const std::vector<Kind> kinds{
        {Reason::exited, [](Gate& gate) { gate.exits(gate.current(0)); }},
        {Reason::misbehaved, [](Gate& gate) { gate.tell(WorkerMisbehaved{gate.current(0)}); }},
        {Reason::load_silent,
         [](Gate& gate) {
             gate.restart(0), gate.dies(0);
             gate.pass(1min);
         }},
        {Reason::not_answering,
         [](Gate& gate) {
             gate.leave_probes_to_me();
             gate.pass(2s);
             gate.answers_probe(gate.current(0), ProbeVerdict::refused);
         }},
        {Reason::proof_silent,
         [](Gate& gate) {
             gate.tell(ProveAsked{PoolId{0}});
             gate.pass(300s);  // lane 1 is not asked before lane 0 has ended
         }},
    };
    for (const auto& [reason, happen] : kinds) {
        Gate gate({.lanes = 2, .load_timeout = 1min, .crash_limit = 1, .proof = ProofKind::fixed});
        gate.open();
        happen(gate);
        EXPECT_EQ(gate.state(0), LaneState::failed) << name_of(reason);
        const auto kills = gate.acts<KillWorker>();
        ASSERT_FALSE(kills.empty()) << name_of(reason);
        EXPECT_EQ(kills.front().reason, reason);
    }
}

TEST(Restart, CountsAnUnhealthyWorkerAsACrashOnceItsJobIsAcquitted) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::unhealthy);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 unhealthy", "send j0 to w1"));
    EXPECT_EQ(gate.state(0), LaneState::backoff);
    gate.ends(job);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Restart, CountsAnExitWhileFinishingAsACrash) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.restart(0);
    gate.exits(gate.current(0));
    gate.ends(job);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Restart, DoesNotCountEndsThatWereOrdered) {
    Gate gate({.lanes = 2, .job_timeout = 10s, .crash_limit = 1});
    gate.open();
    gate.restart(0);  // asked
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::starting) << "at once";
    gate.comes_up(0);
    gate.queue_job({.lane = 0});
    gate.pass(15s);  // stuck
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::starting) << "at once";
    gate.comes_up(0);
    gate.reload(2);  // replaced
    gate.comes_up(gate.other(0)), gate.comes_up(gate.other(1));
    gate.dies(gate.other(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Restart, DoesNotCountTheDeathOfALeavingWorker) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.reload(2);
    gate.comes_up(gate.other(0)), gate.comes_up(gate.other(1));
    gate.exits(gate.other(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.ends(job);
    EXPECT_EQ(gate.ended(job), EndReason::answered) << "by the other lane";
    EXPECT_EQ(gate.state(0), LaneState::ready) << "the old code was to blame";
}

TEST(Restart, ForgetsItsHistoryWhenAPersonAsks) {
    Gate gate({.lanes = 2, .crash_limit = 3});
    gate.open();
    crash(gate), crash(gate);
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w4 on 0 with g1"));
    gate.comes_up(0);
    expect_about(crash(gate), 200ms);
    crash(gate);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Restart, SkipsTheDelayWhenAPersonAsks) {
    Gate gate({.lanes = 1, .restart_delay_min = 20s});
    gate.open();
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::backoff);
    gate.restart(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

}  // namespace
}  // namespace turnpike
