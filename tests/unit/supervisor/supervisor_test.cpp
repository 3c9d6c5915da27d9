#include "supervisor/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/supervisor/supervisor_stand.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using Stand = SupervisorStand;

// ── which worker a lane gets ─────────────────────────────────────────────────────────────────────

TEST(Supervisor, StartsAWorkerOfTheKindOfItsPool) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    stand.start(worker_in(1), http_lane);
    ASSERT_THAT(stand.guards.made, SizeIs(2));
    EXPECT_TRUE(stand.guards.made[0]->link) << "frames come over its socket";
    EXPECT_THAT(stand.guards.made[0]->environment, Contains(StartsWith("TURNPIKE_SOCKET=")));
    EXPECT_FALSE(stand.guards.made[1]->link);
    EXPECT_THAT(stand.guards.made[1]->orders.command, StartsWith("serve --port "));
    stand.start(worker_in(2), attached_lane);
    EXPECT_THAT(stand.guards.made, SizeIs(2)) << "somebody else has started it";
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted 2"));
    stand.wait([&] { return stand.dialer.waiting() == 1; });
}

TEST(Supervisor, KeepsTheKeysOfTheGateFromItsWorkers) {
    Stand stand;
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Each(Not(StartsWith("TURNPIKE_KEY"))));
    EXPECT_THAT(stand.guards.last().environment, Contains("PATH=/bin"));
}

TEST(Supervisor, MakesPythonWriteItsOutputAtOnceUnlessTheUserChoseOtherwise) {
    Stand stand;
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Contains("PYTHONUNBUFFERED=1"));
    stand.environment.emplace_back("PYTHONUNBUFFERED=");
    stand.make();
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Contains("PYTHONUNBUFFERED="));
}

// ── orders ───────────────────────────────────────────────────────────────────────────────────────

TEST(Supervisor, GivesEachOrderToItsNativeWorkerOnly) {
    Stand stand;
    const auto first = stand.native(worker_in(0), native_lane);
    const auto second = stand.native(worker_in(1), other_native_lane);

    stand.send(worker_in(1), 1);
    first->hear();
    second->hear();
    EXPECT_THAT(first->jobs, IsEmpty());
    ASSERT_THAT(second->jobs, SizeIs(1));
    EXPECT_EQ(second->jobs[0].name, "job-1");
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(0), .attempt = {101}});
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(1), .attempt = {101}});
    stand.supervisor->carry_out(ProbeWorker{.worker = worker_in(0), .probe = 4});
    stand.supervisor->carry_out(StopWorker{.worker = worker_in(1), .reason = Reason::replaced});
    first->hear();
    second->hear();
    EXPECT_THAT(first->told, ElementsAre("ping 5"));
    EXPECT_THAT(second->told, ElementsAre("cancel " + std::to_string(second->jobs[0].id), "stop"));

    first->say(bytes_of(wire::Pong{5}));
    stand.loop.poll();
    EXPECT_THAT(stand.told, ElementsAre("ProbeEnded 0"));
    stand.supervisor->carry_out(KillWorker{.worker = worker_in(0), .reason = Reason::replaced});
    EXPECT_THAT(stand.guards.made[0]->asked, ElementsAre("kill"));
    EXPECT_THAT(stand.guards.made[1]->asked, IsEmpty());
}

TEST(Supervisor, GivesEachOrderToItsServerOnly) {
    Stand stand;
    stand.http(worker_in(0), http_lane);
    stand.http(worker_in(1), attached_lane);
    stand.supervisor->carry_out(ProveWorker{.worker = worker_in(1), .proof = 1});
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard,
                AllOf(StartsWith("POST /predict "), HasSubstr("Host: 127.0.0.1:9000\r\n")));
    stand.supervisor->carry_out(ProbeWorker{.worker = worker_in(0), .probe = 1});
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard,
                AllOf(StartsWith("GET /health "), Not(HasSubstr("Host: 127.0.0.1:9000\r\n"))));
    stand.send(worker_in(1), 1);
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard, StartsWith("GET /job "));
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(1), .attempt = {101}});
    EXPECT_THAT(stand.told, ElementsAre("AttemptEnded 1"));
    stand.told.clear();

    stand.supervisor->carry_out(StopWorker{.worker = worker_in(0), .reason = Reason::replaced});
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("terminate"));
    EXPECT_THAT(stand.told, IsEmpty());
    stand.supervisor->carry_out(KillWorker{.worker = worker_in(1), .reason = Reason::replaced});
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 1", "WorkerGone 1"));
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("terminate"));
}

TEST(Supervisor, IgnoresOrdersForWorkersThatItDoesNotHave) {
    Stand stand;
    stand.order_everything({});
    stand.order_everything(worker_in(0));
    const auto peer = stand.native(worker_in(1), native_lane);
    for (const WorkerId nobody : {WorkerId{}, worker_in(0), worker_in(1, 1), worker_in(7)})
        stand.order_everything(nobody);
    stand.loop.poll();
    peer->hear();
    EXPECT_THAT(peer->told, IsEmpty());
    EXPECT_THAT(peer->jobs, IsEmpty());
    EXPECT_THAT(stand.guards.last().asked, IsEmpty());
    EXPECT_THAT(stand.told, IsEmpty());
}

TEST(Supervisor, UsesAPlaceAgainOnceItsWorkerIsGone) {
    Stand stand;
    const auto first = stand.native(worker_in(0), native_lane);
    stand.end(*stand.guards.made[0], 0);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 0", "WorkerGone 0"));

    const WorkerId next = worker_in(0, 1);
    const auto second = stand.native(next, native_lane);
    stand.order_everything(worker_in(0));  // orders that crossed its end
    second->hear();
    EXPECT_THAT(second->told, IsEmpty());
    EXPECT_THAT(stand.guards.last().asked, IsEmpty());
    stand.supervisor->carry_out(ProbeWorker{.worker = next, .probe = 0});
    second->hear();
    EXPECT_THAT(second->told, ElementsAre("ping 1"));
    stand.end(stand.guards.last(), 0);
    const std::string id = std::to_string(next.value);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited " + id, "WorkerGone " + id));
}

TEST(Supervisor, RefusesAJobForAWorkerThatHasExitedInThisTurn) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.guards.last().exits(exit_code(1));
    EXPECT_EQ(stand.send(worker_in(0), 1)->attempt.trouble.cause, Cause::worker_died);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 0"));
}

TEST(Supervisor, AbandonsItsGuardsWhenTheGateEnds) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    const auto peer = stand.native(worker_in(1), other_native_lane);
    stand.supervisor.reset();
    EXPECT_THAT(stand.guards.made[0]->asked, ElementsAre("abandon"));
    EXPECT_THAT(stand.guards.made[1]->asked, ElementsAre("abandon"));
    EXPECT_THAT(stand.told, IsEmpty());
}

}  // namespace
}  // namespace turnpike
