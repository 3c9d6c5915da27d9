// Exchanges that were closed, so that nobody knows whether the worker is done with them (cancel.cpp,
// health.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/health.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

/// One lane. The exchange of a job whose client left is closed. Probes are left to the test.
struct Closed {
    explicit Closed(std::uint32_t slots = 1)
        : gate({.slots = slots, .job_timeout = 5min, .cancel = CancelPolicy::close}) {
        gate.open();
        gate.leave_probes_to_me();
        job = gate.queue_job();
        gate.tell(ClientLeft{job});
        gate.ends(job, Verdict::closed);
    }
    WorkerId worker() { return gate.current(0); }
    Gate gate;
    JobId job;
};

TEST(ClosedExchange, KeepsItsSlotUntilAProbeIsAnswered) {
    Closed scene;
    Gate& gate = scene.gate;
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0")) << "at once";
    EXPECT_EQ(gate.state(0), LaneState::busy);
    const JobId next = gate.queue_job();
    EXPECT_TRUE(gate.is_queued(next));
    gate.answers_probe(scene.worker());
    EXPECT_TRUE(gate.is_running(next));
}

TEST(ClosedExchange, IsNotEndedByAProbeThatWasSentBefore) {
    Gate gate({.slots = 2, .cancel = CancelPolicy::close});
    gate.open();
    gate.leave_probes_to_me();
    gate.pass(2s);
    ASSERT_THAT(gate.deeds(), ElementsAre("probe w0"));
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    gate.ends(job, Verdict::closed);
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "one probe at a time";
    gate.answers_probe(gate.current(0));
    EXPECT_EQ(gate.lane(0).slots_free, 1U);
    EXPECT_THAT(gate.deeds(), ElementsAre("probe w0")) << "the next one counts";
    gate.answers_probe(gate.current(0));
    EXPECT_EQ(gate.lane(0).slots_free, 2U);
}

TEST(ClosedExchange, NeedsAProbeOfItsOwnForEachClose) {
    Closed scene(2);
    Gate& gate = scene.gate;
    const JobId second = gate.queue_job();
    gate.tell(ClientLeft{second});
    gate.ends(second, Verdict::closed);
    gate.answers_probe(scene.worker());
    EXPECT_EQ(gate.lane(0).slots_free, 1U) << "the first one";
    gate.answers_probe(scene.worker());
    EXPECT_EQ(gate.lane(0).slots_free, 2U);
}

TEST(ClosedExchange, ExcusesSilence) {
    Closed scene;
    Gate& gate = scene.gate;
    for (int probes = 0; probes < 20; ++probes) {
        gate.answers_probe(scene.worker(), ProbeVerdict::silent);
        EXPECT_THAT(gate.deeds(), IsEmpty());
        gate.pass(2s);
        EXPECT_THAT(gate.deeds(), ElementsAre("probe w0"));
    }
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), Each("probe w0")) << "nor does an answer that never comes";
    gate.answers_probe(scene.worker());
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ClosedExchange, IsFollowedByTheUsualPatience) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.pass(1min);
    gate.answers_probe(scene.worker());
    gate.pass(6s);
    EXPECT_THAT(gate.deeds(), Each("probe w0"));
    gate.pass(2s);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 not_answering")) << "three failures while idle";
}

TEST(ClosedExchange, DoesNotExcuseARefusedConnection) {
    Closed scene;
    scene.gate.answers_probe(scene.worker(), ProbeVerdict::refused);
    EXPECT_THAT(scene.gate.deeds(), ElementsAre("kill w0 not_answering"));
}

TEST(ClosedExchange, LetsARefusalPassWhileANeighbourWorks) {
    Closed scene(2);
    Gate& gate = scene.gate;
    gate.queue_job();
    gate.answers_probe(scene.worker(), ProbeVerdict::refused);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.pass(2s);
    gate.answers_probe(scene.worker(), ProbeVerdict::refused);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(ClosedExchange, EndsWithJobTimeoutAtTheLatest) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.pass(5min + 5s - 1ns);
    EXPECT_THAT(gate.deeds(), Each("probe w0"));
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 job_stuck"));
    EXPECT_THAT(gate.acts<KillWorker>(), testing::SizeIs(1));
}

TEST(ClosedExchange, MayEndInTheGraceAfterJobTimeout) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.pass(5min + 4s);
    gate.answers_probe(scene.worker());
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.pass(5s);
    EXPECT_THAT(gate.acts<KillWorker>(), IsEmpty());
}

TEST(ClosedExchange, LeavesItsNeighboursAlone) {
    Closed scene(2);
    Gate& gate = scene.gate;
    const JobId neighbour = gate.queue_job();
    ASSERT_TRUE(gate.is_running(neighbour));
    EXPECT_TRUE(gate.is_queued(gate.queue_job())) << "the other slot is taken";
    gate.answers_probe(scene.worker());
    EXPECT_TRUE(gate.is_running(neighbour));
    EXPECT_EQ(gate.pool().running, 2U);
    gate.ends(neighbour);
    EXPECT_EQ(gate.ended(neighbour), EndReason::answered);
}

TEST(ClosedExchange, IsKilledWithAnOverdueNeighbour) {
    Closed scene(3);
    Gate& gate = scene.gate;
    gate.answers_probe(scene.worker());
    gate.queue_job();
    gate.pass(1min);
    const JobId closed = gate.queue_job();
    gate.tell(ClientLeft{closed});
    gate.ends(closed, Verdict::closed);
    gate.pass(4min + 5s);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 job_stuck"))
        << "nobody can wait for the closed one";
}

TEST(ClosedExchange, IsNotAbandoned) {
    Closed scene;
    scene.gate.pass(4min);
    EXPECT_THAT(scene.gate.deeds(), Each("probe w0")) << "its bound is job_timeout";
}

TEST(ClosedExchange, ThatNobodyAskedForFailsItsJob) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::closed);
    EXPECT_EQ(gate.ended(job), EndReason::model_failed);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ClosedExchange, IsClosedOnce) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.ends(scene.job, Verdict::closed);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.answers_probe(scene.worker());
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ClosedExchange, MayStillBeEndedByItsWorker) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.ends(scene.job, Verdict::cancelled);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.answers_probe(scene.worker());
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(ClosedExchange, IsWaitedForByADrain) {
    Closed scene;
    Gate& gate = scene.gate;
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.answers_probe(scene.worker());
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 drain_asked"));
}

TEST(ClosedExchange, IsWaitedForByAProof) {
    Gate gate({.lanes = 1, .cancel = CancelPolicy::close, .proof = ProofKind::fixed});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    gate.ends(job, Verdict::closed);
    gate.tell(ProveAsked{PoolId{0}});
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.answers_probe(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0"));
}

TEST(ClosedExchange, ChargesNobodyWhenItsWorkerDies) {
    Gate gate({.lanes = 2, .cancel = CancelPolicy::close, .crash_limit = 1});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.tell(ClientLeft{job});
    gate.ends(job, Verdict::closed);
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::backoff);
}

TEST(Closed, MayKillTheWorkerLaterWithoutAChargeForTheLane) {
    for (const bool is_late : {false, true}) {
        Gate gate({.lanes = 2,
                   .job_timeout = 1min,
                   .cancel = CancelPolicy::close,
                   .crash_limit = 1,
                   .probe_every = 1h});
        gate.open();
        gate.leave_probes_to_me();
        const JobId job = gate.queue_job();
        gate.tell(ClientLeft{job});
        gate.ends(job, Verdict::closed);
        gate.answers_probe(gate.current(0));
        gate.pass(is_late ? 1min : 30s);
        gate.dies(0);
        EXPECT_EQ(gate.state(0), is_late ? LaneState::failed : LaneState::backoff)
            << "it may have worked on for job_timeout";
    }
}

}  // namespace
}  // namespace turnpike
