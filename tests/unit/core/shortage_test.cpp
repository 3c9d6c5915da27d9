// Shortages of the gate or of the machine are no worker's fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;

/// Lets the start of this worker fail because the gate is short of something.
void falls_short(Gate& gate, WorkerId worker) {
    gate.tell(WorkerExited{worker, ExitCause::shortage});
    gate.becomes_gone(worker);
}

TEST(Shortage, NeverFailsALane) {
    Gate gate({.lanes = 2, .crash_limit = 2});
    gate.open();
    gate.dies(0);
    for (int i = 0; i < 40; ++i) {
        gate.pass(10s);
        falls_short(gate, gate.current(0));
        EXPECT_EQ(gate.state(0), LaneState::backoff);
        EXPECT_EQ(gate.reason(0), Reason::shortage);
    }
    gate.pass(10s);
    gate.comes_up(0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Shortage, IsTriedAgainSoonEvenAfterManyTries) {
    Gate gate(PoolSettings{.restart_delay_max = 30s});
    gate.tell(GateOpened{});
    for (int i = 0; i < 20; ++i) {
        falls_short(gate, gate.current(0));
        const Instant failed = gate.now();
        gate.pass(shortage_delay_max * 5 / 4);
        ASSERT_FALSE(gate.current(0).is_none());
        EXPECT_LE(gate.now() - failed, shortage_delay_max * 5 / 4);
    }
}

TEST(Shortage, DoesNotLengthenTheDelayAfterALaterCrash) {
    Gate gate(PoolSettings{.restart_delay_min = 200ms});
    gate.open();
    gate.dies(0);
    for (int i = 0; i < 10; ++i) {
        gate.pass(10s);
        falls_short(gate, gate.current(0));
    }
    gate.pass(10s);
    gate.comes_up(0);
    gate.pass(2min);
    test::expect_about(test::delay_after_death(gate, 0), 200ms);
}

TEST(Shortage, DoesNotEndAReload) {
    for (const ReloadKind kind : {ReloadKind::beside, ReloadKind::in_place}) {
        Gate gate(PoolSettings{});
        gate.open();
        gate.reload(2, kind);
        if (kind == ReloadKind::in_place) gate.dies(0);
        for (int i = 0; i < 3; ++i) {
            const auto started = gate.acts<StartWorker>();
            ASSERT_EQ(started.size(), 1U) << name_of(kind);
            EXPECT_EQ(started.front().generation, Generation{2});
            falls_short(gate, started.front().worker);
            EXPECT_TRUE(gate.acts<StartWorker>().empty()) << "it waits first";
            while (gate.acts<StartWorker>().empty()) gate.pass(gate.next_deadline() - gate.now());
        }
        gate.comes_up(gate.acts<StartWorker>().front().worker);
        EXPECT_EQ(gate.pool().good, Generation{2}) << name_of(kind);
    }
}

TEST(Shortage, LetsAFailedLaneTryAgainSoon) {
    Gate gate({.lanes = 2, .crash_limit = 1, .revive_every = 5min});
    gate.open();
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.pass(5min);
    falls_short(gate, gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::failed);
    gate.pass(10s);
    gate.comes_up(0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Shortage, OfAJobEndsTheJobAndSaysNothingAboutTheWorker) {
    Gate gate({.lanes = 2, .fail_streak = 2});
    gate.open();
    for (int i = 0; i < 10; ++i) {
        const JobId job = gate.queue_job({.lane = 0});
        gate.ends(job, Verdict::shortage);
        EXPECT_EQ(gate.ended(job), EndReason::shortage);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_EQ(outcome_of(EndReason::shortage), Outcome::failed);
    const auto ends = gate.acts<EndJob>();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_GT(ends.front().retry_after, Duration::zero());
}

TEST(Shortage, OfAProbeIsNoFailureOfTheWorker) {
    Gate gate(PoolSettings{.probe_failures_max = 1});
    gate.leave_probes_to_me();
    gate.open();
    for (int i = 0; i < 5; ++i) {
        gate.pass(2s);
        gate.answers_probe(gate.current(0), ProbeVerdict::not_sent);
        EXPECT_EQ(gate.state(0), LaneState::ready);
    }
}

TEST(Shortage, OfAProofIsNoJudgementHoweverLongItLasts) {
    for (const ProofKind kind : {ProofKind::fixed, ProofKind::agree}) {
        Gate gate(test::proving(1, kind));
        gate.tell(GateOpened{});
        gate.tell(WorkerReady{gate.current(0)});
        for (int i = 0; i < 100; ++i) {
            gate.pass(1min - 1ns);
            gate.cannot_send_proof(gate.current(0));
            ASSERT_EQ(gate.state(0), LaneState::proving) << "no job before its proof";
        }
        gate.pass(1min - 1ns);
        kind == ProofKind::agree ? gate.votes(gate.current(0), 0)
                                 : gate.passes_proof(gate.current(0));
        EXPECT_EQ(gate.state(0), LaneState::ready);
    }
}

TEST(Shortage, OfAProofGivesASilentWorkerNoMoreThanTheUsualTime) {
    Gate gate(test::proving(1));
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    gate.pass(30s);
    gate.cannot_send_proof(gate.current(0));
    gate.pass(1min - 1ns);
    EXPECT_EQ(gate.state(0), LaneState::proving);
    gate.pass(1ns);
    EXPECT_EQ(gate.reason(0), Reason::proof_silent);
}

TEST(Shortage, OfAProofThatIsOverChangesNothing) {
    Gate gate(test::proving(1));
    gate.open();
    gate.cannot_send_proof(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.pass(5min);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

}  // namespace
}  // namespace turnpike
