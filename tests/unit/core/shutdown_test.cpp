#include "core/shutdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Shutdown, StopsIdleWorkersAtOnceAndLeavesWhenTheyAreGone) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 shutting_down", "stop w1 shutting_down"));
    EXPECT_TRUE(gate.view().is_shutting_down);
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.becomes_gone(gate.current(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("leave"));
}

TEST(Shutdown, LeavesAtOnceWhenThereIsNothing) {
    Gate gate({.lanes = 1});
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("leave"));
}

TEST(Shutdown, LeavesOnce) {
    Gate gate({.lanes = 1});
    gate.shut_down(1min);
    gate.shut_down(0s);
    gate.tell(GateOpened{});
    gate.restart(0);
    gate.pass(1h);
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Shutdown, LetsAdmittedJobsFinish) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId running = gate.queue_job();
    const JobId queued = gate.queue_job();
    const JobId arriving = gate.arrive();
    gate.shut_down(1min);
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.arrive();
    EXPECT_EQ(gate.refusal(), EndReason::shutting_down);
    gate.ends(running);
    gate.tell(BodyCompleted{arriving, Bytes{10}});
    gate.ends(queued);
    EXPECT_TRUE(gate.is_running(arriving));
    gate.ends(arriving);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j2 answered", "stop w0 shutting_down"));
}

TEST(Shutdown, StillRestartsWorkersForAdmittedJobs) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(1min);
    gate.dies(0);
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 0 with g1"));
    gate.comes_up(0);
    gate.ends(job);
    EXPECT_EQ(gate.ended(job), EndReason::answered);
}

TEST(Shutdown, EndsEverythingWhenThePatienceIsOver) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId running = gate.queue_job();
    const JobId queued = gate.queue_job();
    const JobId arriving = gate.arrive();
    const JobId aside = gate.queue_job({.is_aside = true});
    gate.shut_down(1min);
    gate.pass(1min - 1ns);
    EXPECT_EQ(gate.view().jobs, 4U);
    gate.pass(1ns);
    for (const JobId job : {running, queued, arriving, aside})
        EXPECT_EQ(gate.ended(job), EndReason::shutting_down) << gate.name(job);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 shutting_down"));
    EXPECT_EQ(gate.pool().counts.failed, 4U);
    gate.becomes_gone(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("leave"));
}

TEST(Shutdown, EndsEverythingAtOnceWithoutPatience) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(0s);
    EXPECT_EQ(gate.ended(job), EndReason::shutting_down);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 shutting_down"));
    EXPECT_EQ(gate.pool().counts.failed, 1U) << "it is not blamed, nor queued again";
}

TEST(Shutdown, TreatsNegativePatienceAsZero) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job();
    gate.shut_down(-1h);
    EXPECT_THAT(gate.deeds(), Contains("kill w0 shutting_down"));
}

TEST(Shutdown, KillsWorkersThatWereAskedWhenThePatienceIsOver) {
    Gate gate({.lanes = 1, .stop_grace = 1h});
    gate.open();
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 shutting_down"));
    gate.pass(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 shutting_down"));
}

TEST(Shutdown, WaitsNoLongerWhenAskedAgainForLess) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(1h);
    gate.shut_down(1min);
    gate.pass(1min);
    EXPECT_EQ(gate.ended(job), EndReason::shutting_down);
}

TEST(Shutdown, WaitsNoLongerWhenAskedAgainForMore) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(1min);
    gate.pass(30s);
    gate.shut_down(31s);
    gate.pass(30s - 1ns);
    EXPECT_TRUE(gate.is_running(job));
    gate.pass(1ns);
    EXPECT_EQ(gate.ended(job), EndReason::shutting_down);
}

TEST(Shutdown, CanWaitForever) {
    Gate gate({.lanes = 1, .job_timeout = 24h});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(Duration::max());
    gate.pass(23h);
    EXPECT_TRUE(gate.is_running(job));
}

TEST(Shutdown, StopsEveryWorkerWhateverItIsDoing) {
    Gate gate({.lanes = 3, .proof = ProofKind::fixed});
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(1)});
    gate.comes_up(2);
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 shutting_down", "stop w1 shutting_down",
                                          "stop w2 shutting_down"));
}

TEST(Shutdown, StopsAWorkerThoughAnAttemptRunsThatNobodyWaitsFor) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.shut_down(1min);
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 client_left", "stop w0 shutting_down"));
}

TEST(Shutdown, StartsNothingAnyMoreOnceItStops) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.dies(0);
    gate.shut_down(1h);
    gate.pass(1s);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    gate.restart(0), gate.reload(2);
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty());
    EXPECT_EQ(gate.state(0), LaneState::drained);
    EXPECT_EQ(gate.reason(0), Reason::shutting_down);
}

TEST(Shutdown, DoesNotWaitForWorkersThatSurvivedTheirKill) {
    Gate gate({.lanes = 2, .stop_grace = 5s, .kill_patience = 10s});
    gate.open();
    gate.shut_down(1min);
    gate.becomes_gone(gate.current(0));
    gate.pass(15s - 1ns);
    EXPECT_THAT(gate.deeds(), Not(Contains("leave")));
    gate.pass(1ns);
    EXPECT_THAT(gate.deeds(), ElementsAre("leave"));
}

TEST(Shutdown, EndsJobsThatWaitForALaneThatNeverComes) {
    Gate gate({.lanes = 1});
    gate.tell(GateOpened{});
    gate.dies(0);
    const JobId job = gate.queue_job();
    gate.shut_down(100ms);
    gate.pass(100ms);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 shutting_down", "leave"));
    EXPECT_EQ(gate.ended(job), EndReason::shutting_down);
}

}  // namespace
}  // namespace turnpike
