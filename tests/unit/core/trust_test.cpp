#include "core/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::distrusting;
using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// ── the streak ───────────────────────────────────────────────────────────────────────────────────

TEST(Trust, LetsALaneRestAfterAStreakOfFailures) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(0, 2, Verdict::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_THAT(gate.turn(), ElementsAre("end j2 model_failed", "lane 0 backoff failing_jobs"));
    EXPECT_TRUE(gate.is_queued(gate.queue_job({.lane = 0})));
    EXPECT_EQ(gate.lane_of(gate.queue_job()), LaneId{1}) << "the other lane works on";
    gate.pass(7499ms);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(5001ms);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j3 to w0"));
}

TEST(Trust, CountsEveryKindOfFailure) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(0, 1, Verdict::model_failed);
    gate.run_jobs(0, 1, Verdict::non_finite);
    gate.run_jobs(0, 1, Verdict::out_of_memory);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(Trust, CountsWhatTheClientDidWrongAsSuccess) {
    Gate gate(distrusting());
    gate.open();
    for (int i = 0; i < 5; ++i) {
        gate.run_jobs(0, 2, Verdict::model_failed);
        gate.run_jobs(0, 1, i % 2 == 0 ? Verdict::bad_input : Verdict::answered);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Trust, NeitherCountsNorClearsForOtherEnds) {
    PoolSettings settings = distrusting();
    settings.cancel = CancelPolicy::close;
    Gate gate(settings);
    gate.open();
    gate.run_jobs(0, 2, Verdict::model_failed);
    const JobId cancelled = gate.queue_job({.lane = 0});
    gate.tell(ClientLeft{cancelled});
    gate.ends(cancelled, Verdict::cancelled);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "not counted";
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs) << "not cleared";
}

TEST(Trust, CountsFailuresThatNobodyWaitedFor) {
    Gate gate(distrusting());
    gate.open();
    for (int i = 0; i < 3; ++i) {
        const JobId job = gate.queue_job({.lane = 0});
        gate.tell(ClientLeft{job});
        gate.ends(job, Verdict::model_failed);
    }
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(Trust, DoesNotJudgeByAsides) {
    Gate gate(distrusting());
    gate.open();
    for (int i = 0; i < 6; ++i)
        gate.ends(gate.queue_job({.lane = 0, .is_aside = true}), Verdict::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.run_jobs(0, 2, Verdict::model_failed);
    gate.ends(gate.queue_job({.lane = 0, .is_aside = true}), Verdict::answered);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs) << "an aside clears nothing either";
}

// ── the model ────────────────────────────────────────────────────────────────────────────────────

TEST(Trust, BlamesTheModelWhenThereIsNoOtherLane) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.turn(), ElementsAre("end j2 model_failed", "model failing on 0"));
    gate.run_jobs(0, 5, Verdict::model_failed);
    EXPECT_THAT(gate.turn(), ElementsAre("end j7 model_failed"))
        << "it goes on, and is reported once";
}

TEST(Trust, BlamesTheModelWhenTheLatestOfEveryOtherLaneFailedToo) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(1, 1, Verdict::model_failed);
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.turn(), ElementsAre("end j3 model_failed", "model failing on 0"));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Trust, BlamesTheModelWhenNoOtherLaneServes) {
    Gate gate(distrusting());
    gate.open();
    gate.dies(1);
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), Contains("model failing on 0"));
}

TEST(Trust, ChangesItsMindWhenAnotherLaneFaresBetter) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(1, 1, Verdict::model_failed);
    gate.run_jobs(0, 4, Verdict::model_failed);
    ASSERT_EQ(gate.state(0), LaneState::ready);
    gate.run_jobs(1, 1, Verdict::answered);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(Trust, DoesNotCompareWithALaneOfAnotherPool) {
    Gate gate(test::settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), Contains("model failing on 0"));
}

TEST(Trust, DoesNotCompareWithADrainingLane) {
    Gate gate(distrusting());
    gate.open();
    gate.queue_job({.lane = 1});
    gate.drain(1);
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), Contains("model failing on 0")) << "nobody else would serve";
}

TEST(Trust, DoesNotJudgeAWorkerThatIsLeavingAnyway) {
    Gate gate({.lanes = 1, .slots = 3});
    gate.open();
    const auto jobs = gate.queue_jobs(3);
    gate.reload(2);
    gate.comes_up(gate.other(0));
    for (const JobId job : jobs) {
        gate.ends(job, Verdict::model_failed);
        EXPECT_THAT(gate.acts<ReportModelFailing>(), IsEmpty());
    }
}

// ── with a proof ─────────────────────────────────────────────────────────────────────────────────

TEST(Trust, AsksForAProofInsteadOfARest) {
    Gate gate(distrusting(ProofKind::fixed));
    gate.open();
    gate.run_jobs(0, 3, Verdict::model_failed);
    EXPECT_THAT(gate.turn(),
                ElementsAre("end j2 model_failed", "prove w0", "lane 0 proving failing_jobs"));
    gate.pass(1ms);
    gate.passes_proof(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "on probation; now it rests";
    gate.pass(12500ms);
    EXPECT_EQ(gate.state(0), LaneState::proving) << "then proves itself";
    gate.passes_proof(gate.current(0));
    gate.run_jobs(0, 1, Verdict::answered);
    gate.run_jobs(0, 2, Verdict::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "a success cleared it";
}

TEST(Trust, AsksForAProofWhenMemoryRanOut) {
    Gate gate(distrusting(ProofKind::fixed));
    gate.open();
    gate.run_jobs(0, 1, Verdict::out_of_memory);
    EXPECT_THAT(gate.turn(),
                ElementsAre("end j0 out_of_memory", "prove w0", "lane 0 proving proof_due"));
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(gate.queue_job({.lane = 0})));
}

TEST(Trust, GoesOnWhenMemoryRanOutWithoutAProof) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(0, 1, Verdict::out_of_memory);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Trust, RestsWhenMemoryRunsOutOnProbation) {
    Gate gate(distrusting(ProofKind::fixed));
    gate.open();
    for (int i = 0; i < 3; ++i) {
        gate.run_jobs(0, 1, Verdict::out_of_memory);
        gate.pass(1ms);
        gate.passes_proof(gate.current(0));
    }
    gate.run_jobs(0, 1, Verdict::out_of_memory);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "or it would swallow a job per proof";
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
}

TEST(Trust, StillWantsTheProofWhenANeighbourSucceedsAfterMemoryRanOut) {
    PoolSettings settings = distrusting(ProofKind::fixed);
    settings.slots = 2;
    Gate gate(settings);
    gate.open();
    const JobId neighbour = gate.queue_job({.lane = 0});
    gate.run_jobs(0, 1, Verdict::out_of_memory);
    gate.ends(neighbour);
    EXPECT_EQ(gate.state(0), LaneState::proving);
}

}  // namespace
}  // namespace turnpike
