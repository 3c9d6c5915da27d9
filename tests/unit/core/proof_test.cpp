#include "core/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::prove_all;
using test::proving;
using testing::ElementsAre;
using testing::IsEmpty;

// ── a fixed answer ───────────────────────────────────────────────────────────────────────────────

TEST(Proof, ComesBeforeTheFirstJob) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    const JobId job = gate.queue_job();
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    EXPECT_TRUE(gate.is_queued(job));
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Proof, StopsAWorkerThatFailsItAndRestartsItsLaneOnce) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    EXPECT_THAT(gate.turn(), ElementsAre("stop w0 proof_failed", "lane 0 backoff proof_failed"));
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "with a delay, as after a crash";
    gate.pass(250ms);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    EXPECT_THAT(gate.turn(),
                ElementsAre("stop w1 proof_failed", "lane 0 quarantined proof_failed"));
}

TEST(Proof, ForgivesAFailureOnceOneHasPassed) {
    Gate gate(proving(1));
    gate.open();
    for (int i = 0; i < 4; ++i) {
        prove_all(gate);
        gate.fails_proof(gate.current(0));
        gate.becomes_gone(gate.current(0));
        gate.pass(30s);
        gate.comes_up(0);
        ASSERT_EQ(gate.state(0), LaneState::ready) << "after " << i + 1 << " failures";
    }
}

TEST(Proof, ForgivesAFailureWhenAPersonRestartsTheLane) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    for (int i = 0; i < 3; ++i) {
        gate.tell(WorkerReady{gate.current(0)});
        gate.fails_proof(gate.current(0));
        ASSERT_EQ(gate.state(0), LaneState::backoff) << i;
        gate.restart(0);
        gate.dies(0);
    }
}

TEST(Proof, IsRememberedThroughACrashInBetween) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    gate.becomes_gone(gate.current(0));
    gate.pass(1s);
    gate.dies(0);
    gate.pass(1s);
    gate.tell(WorkerReady{gate.current(0)});
    gate.fails_proof(gate.current(0));
    EXPECT_EQ(gate.reason(0), Reason::proof_failed);
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
}

TEST(Proof, KillsAWorkerThatIsSilent) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    gate.pass(1min - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 proof_silent", "lane 0 backoff proof_silent"));
}

TEST(Proof, IgnoresTheVerdictOfAnotherProof) {
    Gate gate(proving(1));
    gate.open();
    const WorkerId worker = gate.current(0);
    gate.tell(ProofEnded{worker, 1, ProofVerdict::failed});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "none is under way";
    prove_all(gate);
    gate.tell(ProofEnded{worker, 1, ProofVerdict::failed});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "the second is under way";
    gate.tell(ProofEnded{worker, 2, ProofVerdict::passed});
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

// ── periodic proofs ──────────────────────────────────────────────────────────────────────────────

TEST(Proof, IsRepeatedNowAndThen) {
    Gate gate(proving(1));
    gate.open();
    gate.pass(10min - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.passes_proof(gate.current(0));
    gate.pass(10min - 1ns);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
}

TEST(Proof, WaitsUntilNothingIsAboardWhileTheLaneTakesNothing) {
    Gate gate(proving(1));
    gate.open();
    gate.pass(10min - 1s);
    const JobId job = gate.queue_job();
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::proving);
    const JobId next = gate.queue_job();
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_TRUE(gate.is_running(next));
}

TEST(Proof, TakesOneLaneOfAPoolAtATime) {
    Gate gate(proving(3));
    gate.open();
    gate.pass(10min);
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.pass(10s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.passes_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w1"));
    gate.dies(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w1 exited", "prove w2"))
        << "a death passes the turn on";
}

TEST(Proof, StaysOneAtATimeWhateverHappensToOtherLanes) {
    Gate gate(proving(3));
    gate.open();
    prove_all(gate);
    ASSERT_EQ(gate.state(0), LaneState::proving);
    gate.dies(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w2 exited"));
    prove_all(gate);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(Proof, IsGivenToEveryLaneWhenAskedOneAtATime) {
    Gate gate(proving(2));
    gate.open();
    const JobId job = gate.queue_job({.lane = 1});
    prove_all(gate);
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
    gate.passes_proof(gate.current(0));
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "lane 1 is busy";
    EXPECT_EQ(gate.state(1), LaneState::proving);
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "prove w1"));
    gate.passes_proof(gate.current(1));
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Proof, CanNotBeAskedForWhereThereIsNone) {
    Gate gate({.lanes = 1});
    gate.open();
    prove_all(gate);
    gate.tell(ProveAsked{PoolId{9}});
    EXPECT_THAT(gate.turn(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Proof, DoesNotHoldTheRestUpWhenItsLaneIsRetiredMeanwhile) {
    Gate gate(proving(2));
    gate.open();
    const JobId job = gate.queue_job({.lane = 0});
    prove_all(gate);
    EXPECT_EQ(gate.state(0), LaneState::proving) << "waits for the job";
    gate.drain(0);
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 drain_asked", "prove w1"));
}

}  // namespace
}  // namespace turnpike
