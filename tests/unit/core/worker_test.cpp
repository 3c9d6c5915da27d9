#include "core/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Worker, StartsLoadsProvesAndServes) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.turn(), ElementsAre("start w0 on 0 with g1"));
    const WorkerId worker = gate.current(0);
    gate.tell(WorkerStarted{worker});
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 loading"));
    gate.tell(WorkerReady{worker});
    EXPECT_THAT(gate.turn(), ElementsAre("prove w0", "lane 0 proving proof_due"));
    gate.passes_proof(worker);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 ready"));
}

TEST(Worker, ServesAsSoonAsItIsReadyWithoutAProof) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    gate.tell(WorkerStarted{gate.current(0)});
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 ready"));
}

TEST(Worker, MayBeReadyWhileStillStarting) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_EQ(gate.state(0), LaneState::ready);
    gate.tell(WorkerStarted{gate.current(0)});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "late";
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Worker, IgnoresEventsThatMakeNoSenseNow) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.open();
    const WorkerId worker = gate.current(0);
    gate.tell(WorkerReady{worker});
    EXPECT_THAT(gate.turn(), IsEmpty()) << "it is, and proved";
    gate.tell(LoadProgressed{worker});
    gate.tell(WorkerStarted{worker});
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(9min);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "no load timeout runs";
}

TEST(Worker, IgnoresEventsOfWorkersThatAreGone) {
    Gate gate({.lanes = 1});
    gate.open();
    const WorkerId old = gate.current(0);
    gate.dies(old);
    gate.pass(1s);
    for (const Event& event :
         {Event{WorkerStarted{old}}, Event{LoadProgressed{old}}, Event{WorkerReady{old}},
          Event{WorkerExited{old}}, Event{WorkerGone{old}}, Event{WorkerMisbehaved{old}},
          Event{ProbeEnded{old, 1}}, Event{ProofEnded{old, 1}}}) {
        gate.tell(event);
        EXPECT_THAT(gate.turn(), IsEmpty());
    }
    EXPECT_EQ(gate.state(0), LaneState::starting);
}

// ── loading ──────────────────────────────────────────────────────────────────────────────────────

TEST(Worker, IsKilledWhenItsStartGoesSilent) {
    Gate gate({.lanes = 1, .load_timeout = 1min});
    gate.tell(GateOpened{});
    gate.pass(1min - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("kill w0 load_silent", "lane 0 backoff load_silent"));
}

TEST(Worker, LoadsAsLongAsItShowsProgress) {
    Gate gate({.lanes = 1, .load_timeout = 1min});
    gate.tell(GateOpened{});
    gate.pass(50s);
    gate.tell(WorkerStarted{gate.current(0)});
    for (int i = 0; i < 100; ++i) {
        gate.pass(59s);
        gate.tell(LoadProgressed{gate.current(0)});
    }
    EXPECT_EQ(gate.state(0), LaneState::loading);
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 load_silent"));
}

TEST(Worker, HasItsLoadTimeoutRenewedByProgressWhileStarting) {
    Gate gate({.lanes = 1, .load_timeout = 1min});
    gate.tell(GateOpened{});
    gate.pass(59s);
    gate.tell(LoadProgressed{gate.current(0)});
    gate.pass(59s);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Worker, MayLoadForeverWhenItIsAttached) {
    Gate gate({.lanes = 1, .ownership = Ownership::attached, .load_timeout = 1min});
    gate.tell(GateOpened{});
    gate.pass(1h);
    gate.tell(WorkerStarted{gate.current(0)});
    gate.tell(LoadProgressed{gate.current(0)});
    gate.pass(24h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::backoff);
    EXPECT_EQ(gate.reason(0), Reason::worker_away);
}

// ── ending ───────────────────────────────────────────────────────────────────────────────────────

TEST(Worker, HasItsProcessTreeKilledWhenItExitsByItself) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 exited")) << "for what is left of its tree";
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.turn(), IsEmpty()) << "twice is once";
    EXPECT_EQ(gate.view().workers, 1U) << "only WorkerGone ends it";
}

TEST(Worker, IsAskedToStopThenKilledThenGivenUp) {
    Gate gate({.lanes = 1, .stop_grace = 5s, .kill_patience = 10s});
    gate.open();
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 drain_asked"));
    gate.pass(5s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 drain_asked"));
    gate.pass(10s - 1ns);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.pass(1ns);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 quarantined will_not_die"));
}

TEST(Worker, IsGivenUpWhenItSurvivesItsOwnExit) {
    Gate gate({.lanes = 1, .kill_patience = 10s});
    gate.open();
    gate.exits(gate.current(0));
    gate.pass(10s);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 quarantined will_not_die"))
        << "its tree holds the lane";
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.becomes_gone(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::quarantined) << "only a person revives it";
    EXPECT_EQ(gate.view().workers, 0U);
}

TEST(Worker, HasWhatIsLeftOfItKilledWhenItExitsAsAsked) {
    Gate gate({.lanes = 1, .stop_grace = 5s});
    gate.open();
    gate.drain(0);
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 drain_asked")) << "not only after stop_grace";
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 drained drain_asked"));
}

TEST(Worker, MayBeGoneWithoutAnExit) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 backoff exited"))
        << "there is nothing left to kill";
    EXPECT_TRUE(gate.is_queued(job));
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
}

TEST(Worker, IsKilledWhenItBreaksTheProtocolInEveryState) {
    Gate gate({.lanes = 1, .proof = ProofKind::fixed});
    gate.tell(GateOpened{});
    const auto next = [&] {
        EXPECT_THAT(gate.acts<KillWorker>(), SizeIs(1));
        EXPECT_EQ(gate.reason(0), Reason::misbehaved);
        gate.dies(0);
        gate.restart(0);
    };
    gate.tell(WorkerMisbehaved{gate.current(0)});  // starting
    next();
    gate.tell(WorkerStarted{gate.current(0)});
    gate.tell(WorkerMisbehaved{gate.current(0)});  // loading
    next();
    gate.tell(WorkerReady{gate.current(0)});
    gate.tell(WorkerMisbehaved{gate.current(0)});  // proving
    next();
    gate.comes_up(0);
    gate.tell(WorkerMisbehaved{gate.current(0)});  // serving
    next();
    EXPECT_EQ(gate.state(0), LaneState::starting);
}

TEST(Worker, MayMisbehaveAsItLikesOnceItIsStopping) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.drain(0);
    gate.tell(WorkerMisbehaved{gate.current(0)});
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Worker, CrashesInEveryStateWithoutLosingAJob) {
    Gate gate({.lanes = 1, .crash_limit = 10, .proof = ProofKind::fixed});
    gate.tell(GateOpened{});
    const JobId job = gate.queue_job();
    const auto dies_and_returns = [&] {
        gate.dies(0);
        EXPECT_TRUE(gate.is_queued(job));
        gate.pass(30s);
        ASSERT_EQ(gate.state(0), LaneState::starting);
    };
    dies_and_returns();
    gate.tell(WorkerStarted{gate.current(0)});
    dies_and_returns();
    gate.tell(WorkerReady{gate.current(0)});
    dies_and_returns();
    gate.comes_up(0);
    ASSERT_TRUE(gate.is_running(job));
    dies_and_returns();
    gate.comes_up(0);
    gate.ends(job);
    EXPECT_EQ(gate.acts<EndJob>().front().attempts, 2U);
}

// ── holds ────────────────────────────────────────────────────────────────────────────────────────

TEST(Worker, FinishesItsJobsBeforeItIsRetired) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const auto jobs = gate.queue_jobs(2);
    const JobId waiting = gate.queue_job();
    gate.restart(0);
    EXPECT_THAT(gate.turn(), ElementsAre("lane 0 draining restart_asked"));
    gate.ends(jobs[0]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered"));
    EXPECT_TRUE(gate.is_queued(waiting));
    gate.ends(jobs[1]);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "stop w0 restart_asked"));
}

TEST(Worker, WaitsForAbandonedAttemptsAndAsidesBeforeItIsRetired) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId abandoned = gate.queue_job();
    const JobId aside = gate.queue_job({.is_aside = true});
    gate.tell(ClientLeft{abandoned});
    gate.restart(0);
    gate.ends(abandoned);
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.ends(aside);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 answered", "stop w0 restart_asked"));
}

TEST(Worker, LosesWhatIsAboardTheMomentItStops) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId abandoned = gate.queue_job();
    gate.tell(ClientLeft{abandoned});
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 shutting_down")) << "no job lives";
    EXPECT_EQ(gate.view().attempts, 0U);
    gate.ends(abandoned);
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Worker, LetsAStrongerHoldReplaceAWeakerOneButNotTheReverse) {
    Gate gate({.lanes = 2, .slots = 4, .proof = ProofKind::fixed});
    gate.open();
    gate.leave_probes_to_me();
    const auto aboard = [&] { return gate.queue_job({.lane = 0}); };
    const JobId stays = aboard();
    const JobId breaks = aboard();
    const JobId fails = aboard();
    gate.ends(fails, Verdict::out_of_memory);
    EXPECT_EQ(gate.reason(0), Reason::proof_due) << "prove";
    gate.ends(breaks, Verdict::broken);
    EXPECT_EQ(gate.reason(0), Reason::link_doubted) << "probe is stronger";
    gate.tell(ProveAsked{PoolId{0}});
    EXPECT_EQ(gate.reason(0), Reason::link_doubted) << "prove is weaker";
    gate.restart(0);
    EXPECT_EQ(gate.reason(0), Reason::restart_asked) << "retire is the strongest";
    gate.ends(stays);
    EXPECT_THAT(gate.acts<StopWorker>(), SizeIs(1));
}

}  // namespace
}  // namespace turnpike
