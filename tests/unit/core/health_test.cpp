#include "core/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;

/// One lane that serves. The test answers the probes itself.
class HealthOfOneLane : public testing::Test {
protected:
    HealthOfOneLane()
        : HealthOfOneLane(PoolSettings{.slots = 2, .probe_every = 2s, .probe_failures_max = 3}) {}
    explicit HealthOfOneLane(const PoolSettings& settings) : gate(settings) {
        gate.open();
        gate.leave_probes_to_me();
        worker = gate.current(0);
    }
    void probe_ends(ProbeVerdict verdict) { gate.answers_probe(worker, verdict); }

    Gate gate;
    WorkerId worker;
};

TEST_F(HealthOfOneLane, IsProbedNowAndThen) {
    gate.pass(2s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    EXPECT_EQ(gate.acts<ProbeWorker>().front().probe, 1U);
    probe_ends(ProbeVerdict::answered);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(2s);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    EXPECT_EQ(gate.acts<ProbeWorker>().front().probe, 2U);
}

TEST_F(HealthOfOneLane, IsNotProbedWhileItIsBusy) {
    const JobId job = gate.queue_job();
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.ends(job);
    gate.pass(2s);
    EXPECT_THAT(gate.deeds(), ElementsAre("probe w0"));
}

TEST_F(HealthOfOneLane, IsKilledAfterThreeFailuresInARow) {
    for (int i = 0; i < 2; ++i) {
        gate.pass(2s);
        probe_ends(ProbeVerdict::silent);
        EXPECT_THAT(gate.turn(), IsEmpty());
    }
    gate.pass(2s);
    probe_ends(ProbeVerdict::silent);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 not_answering", "lane 0 backoff not_answering"));
}

TEST_F(HealthOfOneLane, CountsAnUnansweredProbeWhenTheNextIsDue) {
    gate.pass(2s), gate.pass(2s), gate.pass(2s);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "two are counted, the third is under way";
    gate.pass(2s);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 not_answering"));
}

class HealthOfOneLaneWithPatience : public HealthOfOneLane {
protected:
    HealthOfOneLaneWithPatience()
        : HealthOfOneLane(
              PoolSettings{.probe_every = 100ms, .probe_timeout = 2s, .probe_failures_max = 3}) {}
};

TEST_F(HealthOfOneLaneWithPatience, GivesEachProbeItsTimeHoweverSoonTheNextIsDue) {
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    gate.pass(2s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    gate.pass(2s);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    gate.pass(2s - 1ns);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "the third may still be answered";
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 not_answering"));
}

TEST_F(HealthOfOneLaneWithPatience, IsProbedAgainSoonAfterALateAnswer) {
    gate.pass(100ms);
    gate.pass(200ms);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "one is under way";
    probe_ends(ProbeVerdict::answered);
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    probe_ends(ProbeVerdict::answered);
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
}

TEST_F(HealthOfOneLaneWithPatience, IsProbedAgainSoonAfterALateFailure) {
    gate.pass(100ms);
    gate.pass(200ms);
    probe_ends(ProbeVerdict::silent);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
}

TEST_F(HealthOfOneLaneWithPatience, IsProbedAgainSoonIfAProbeEndsJustWhenTheNextIsDue) {
    gate.pass(100ms);
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "the first probe may still be answered";
    probe_ends(ProbeVerdict::silent);
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
}

TEST(HealthOfALaneThatIsProved, IsProbedSoonAfterAProofThatInterruptedAProbe) {
    Gate gate({.probe_every = 100ms, .probe_timeout = 1h, .proof = ProofKind::fixed});
    gate.open();
    gate.leave_probes_to_me();
    gate.pass(100ms);
    gate.pass(200ms);
    gate.tell(ProveAsked{PoolId{0}});
    gate.passes_proof(gate.current(0));
    gate.pass(100ms);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
}

TEST_F(HealthOfOneLane, IsKilledAtOnceWhenItRefuses) {
    gate.pass(2s);
    probe_ends(ProbeVerdict::refused);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 not_answering"));
}

TEST_F(HealthOfOneLane, StartsCountingAnewAfterAnAnswer) {
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2; ++i) {
            gate.pass(2s);
            probe_ends(ProbeVerdict::silent);
        }
        gate.pass(2s);
        probe_ends(ProbeVerdict::answered);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST_F(HealthOfOneLane, StartsCountingAnewAfterAnAnsweredJob) {
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2; ++i) {
            gate.pass(2s);
            probe_ends(ProbeVerdict::silent);
        }
        gate.ends(gate.queue_job());
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST_F(HealthOfOneLane, IgnoresTheAnswerToAnEarlierProbe) {
    gate.pass(2s);
    gate.pass(2s);  // the first counts as a failure
    gate.tell(ProbeEnded{worker, 1, ProbeVerdict::refused});
    EXPECT_THAT(gate.turn(), IsEmpty());
    probe_ends(ProbeVerdict::answered);
    probe_ends(ProbeVerdict::refused);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "answered already";
}

TEST_F(HealthOfOneLane, IgnoresAFailedProbeIfAJobCameMeanwhile) {
    gate.pass(2s);
    const JobId job = gate.queue_job();
    probe_ends(ProbeVerdict::refused);
    EXPECT_EQ(gate.state(0), LaneState::busy) << "too busy to answer";
    gate.ends(job);
    gate.pass(2s);
    gate.ends(gate.queue_job());  // came and went during the probe
    probe_ends(ProbeVerdict::refused);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.pass(2s);
    probe_ends(ProbeVerdict::refused);
    EXPECT_EQ(gate.reason(0), Reason::not_answering);
}

TEST_F(HealthOfOneLane, DoesNotCountAnUnansweredProbeIfAJobCameMeanwhile) {
    for (int i = 0; i < 10; ++i) {
        gate.pass(2s);
        gate.ends(gate.queue_job({.is_aside = true}), Verdict::model_failed);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST_F(HealthOfOneLane, IgnoresProbesOfAWorkerThatStops) {
    gate.pass(2s);
    gate.drain(0);
    probe_ends(ProbeVerdict::refused);
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Health, ProbesNeitherALoadingNorAProvingWorker) {
    Gate gate({.lanes = 1, .probe_every = 2s, .proof = ProofKind::fixed});
    gate.leave_probes_to_me();
    gate.tell(GateOpened{});
    gate.pass(1min);
    gate.tell(WorkerReady{gate.current(0)});
    gate.pass(1min);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.passes_proof(gate.current(0));
    gate.pass(2s);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0"));
    gate.tell(ProveAsked{PoolId{0}});
    gate.pass(1min);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.answers_probe(gate.current(0), ProbeVerdict::refused);
    EXPECT_EQ(gate.state(0), LaneState::proving) << "a proof came into that probe";
    gate.passes_proof(gate.current(0));
    gate.answers_probe(gate.current(0), ProbeVerdict::refused);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Health, StartsCountingAnewAfterAPassedProof) {
    Gate gate({.lanes = 1, .probe_every = 2s, .proof = ProofKind::fixed});
    gate.open();
    gate.leave_probes_to_me();
    for (int i = 0; i < 5; ++i) {
        gate.pass(2s);
        gate.answers_probe(gate.current(0), ProbeVerdict::silent);
        gate.pass(2s);
        gate.answers_probe(gate.current(0), ProbeVerdict::silent);
        gate.tell(ProveAsked{PoolId{0}});
        gate.passes_proof(gate.current(0));
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

// ── a broken link ────────────────────────────────────────────────────────────────────────────────

TEST_F(HealthOfOneLane, IsDoubtedWhenALinkBreaksUntilAProbeAnswers) {
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::broken);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0", "lane 0 backoff link_doubted"));
    EXPECT_TRUE(gate.is_queued(job));
    probe_ends(ProbeVerdict::answered);
    EXPECT_THAT(gate.turn(), ElementsAre("send j0 to w0", "lane 0 ready"));
}

TEST_F(HealthOfOneLane, IsDoubtedAndTrustedAgainHoweverOld) {
    for (int i = 0; i < 20; ++i) {
        gate.pass(2s);
        probe_ends(ProbeVerdict::answered);
    }
    gate.ends(gate.queue_job(), Verdict::broken);
    EXPECT_EQ(gate.reason(0), Reason::link_doubted);
    probe_ends(ProbeVerdict::answered);
    EXPECT_EQ(gate.state(0), LaneState::busy);
}

TEST_F(HealthOfOneLane, LetsTheOthersGoOnWhenOneLinkBreaks) {
    const auto jobs = gate.queue_jobs(2);
    gate.ends(jobs[0], Verdict::broken);
    EXPECT_TRUE(gate.is_running(jobs[1]));
    gate.ends(jobs[1]);
    EXPECT_EQ(gate.ended(jobs[1]), EndReason::answered);
}

TEST_F(HealthOfOneLane, IsProbedWhileDoubtedThoughBusyButJudgedOnlyWhenEmpty) {
    const auto jobs = gate.queue_jobs(2);
    gate.ends(jobs[0], Verdict::broken);
    for (int i = 0; i < 5; ++i) {
        probe_ends(i % 2 == 0 ? ProbeVerdict::silent : ProbeVerdict::refused);
        EXPECT_EQ(gate.reason(0), Reason::link_doubted) << "it may be too busy";
        gate.pass(2s);
        EXPECT_THAT(gate.deeds(), ElementsAre("probe w0"));
    }
    gate.ends(jobs[1]);
    gate.pass(2s);
    EXPECT_THAT(gate.deeds(), ElementsAre("probe w0"));
    probe_ends(ProbeVerdict::refused);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 not_answering"));
}

TEST_F(HealthOfOneLane, IsKilledWhenDoubtedAndSilent) {
    gate.ends(gate.queue_job(), Verdict::broken);
    gate.pass(6s);
    EXPECT_THAT(gate.deeds(), ElementsAre("probe w0", "probe w0", "kill w0 not_answering"));
}

TEST_F(HealthOfOneLane, BlamesALoneJobWhoseLinkBreaksTwice) {
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::broken);
    probe_ends(ProbeVerdict::answered);
    ASSERT_TRUE(gate.is_running(job));
    gate.ends(job, Verdict::broken);
    EXPECT_EQ(gate.ended(job), EndReason::poison);
}

TEST_F(HealthOfOneLane, BlamesNobodyForWhatWasNeverDelivered) {
    const JobId job = gate.queue_job();
    for (int i = 0; i < 3; ++i) {
        gate.ends(job, Verdict::undelivered);
        EXPECT_EQ(gate.reason(0), Reason::link_doubted);
        probe_ends(ProbeVerdict::answered);
        ASSERT_TRUE(gate.is_running(job));
    }
    gate.ends(job);
    EXPECT_EQ(gate.ended(job), EndReason::answered);
}

TEST(Blame, SendsWhatWasNotDeliveredElsewhereThoughRetriesAreOff) {
    Gate gate({.lanes = 2, .may_retry = false});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::undelivered);
    EXPECT_TRUE(gate.is_running(job));
}

TEST_F(HealthOfOneLane, BlamesNobodyForABreakThatWasShared) {
    const auto jobs = gate.queue_jobs(2);
    gate.ends(jobs[0], Verdict::broken);
    gate.ends(jobs[1], Verdict::broken);  // alone aboard now, but it was aboard at the first break
    probe_ends(ProbeVerdict::answered);
    ASSERT_TRUE(gate.is_running(jobs[0]));
    gate.ends(jobs[0]);
    ASSERT_TRUE(gate.is_running(jobs[1]));
    gate.ends(jobs[1], Verdict::broken);
    EXPECT_TRUE(gate.is_queued(jobs[1])) << "its first lone break";
}

TEST_F(HealthOfOneLane, CountsADeathAfterASharedBreakAsShared) {
    const auto jobs = gate.queue_jobs(2);
    gate.ends(jobs[0], Verdict::broken);
    gate.tell(ClientLeft{jobs[0]});
    gate.exits(worker);  // jobs[1] is alone aboard, but was aboard at the break
    gate.becomes_gone(worker);
    for (int lone_deaths = 0; lone_deaths < 2; ++lone_deaths) {
        gate.pass(1s);
        gate.comes_up(0);
        ASSERT_TRUE(gate.is_running(jobs[1])) << "after " << lone_deaths << " lone deaths";
        gate.dies(0);
    }
    EXPECT_EQ(gate.ended(jobs[1]), EndReason::poison);
}

TEST_F(HealthOfOneLane, EndsABegunAnswerWhoseLinkBreaks) {
    const JobId job = gate.queue_job();
    gate.begins(job);
    gate.ends(job, Verdict::broken);
    EXPECT_EQ(gate.ended(job), EndReason::stream_broken);
}

TEST(Health, ProvesADoubtedWorkerBeforeItServesAgain) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::broken);
    gate.answers_probe(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w0"));
}

TEST(Health, BringsAnAttachedWorkerBackAfterItWasAway) {
    Gate gate({.lanes = 1, .ownership = Ownership::attached});
    gate.open();
    gate.leave_probes_to_me();
    gate.pass(2s);
    gate.answers_probe(gate.current(0), ProbeVerdict::refused);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 not_answering", "lane 0 backoff not_answering"));
    gate.becomes_gone(gate.current(0));
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
    gate.pass(24h);
    gate.comes_up(0);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

}  // namespace
}  // namespace turnpike
