// What an orderly end leaves: nothing, except workers that survived a kill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <utility>

#include "supervisor/supervisor.h"
#include "tests/unit/supervisor/supervisor_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using Stand = SupervisorStand;

void stop(Stand& stand, WorkerId worker) {
    stand.supervisor->carry_out(StopWorker{.worker = worker, .reason = Reason::shutting_down});
}

TEST(SupervisorAfterLeave, HasNothingLeftOnceItsWorkersAreGone) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.http(worker_in(1), http_lane);
    stand.http(worker_in(2), attached_lane);
    for (const std::uint64_t lane : {0U, 1U, 2U}) stand.send(worker_in(lane), lane);
    EXPECT_EQ(stand.supervisor->exchanges_held(), 3U) << "an attempt is aboard each";
    for (const std::uint64_t lane : {0U, 1U, 2U}) stop(stand, worker_in(lane));
    for (const auto& guard : stand.guards.made) stand.end(*guard, 0);
    EXPECT_EQ(stand.supervisor->exchanges_held(), 0U);
    EXPECT_EQ(stand.time.alarms_set(), 0U) << "nobody waits for anything";

    for (const std::uint64_t job : {0U, 1U, 2U})  // as the gate does
        stand.exchanges.close(stand.exchanges.find(JobId{job}));
    stand.exchanges.expect_dropped(0);
    stand.supervisor->carry_out(Leave{});
    stand.supervisor.reset();
}

TEST(SupervisorAfterLeave, MayLeaveAWorkerThatSurvivedAKill) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.send(worker_in(0), 0);
    stand.supervisor->carry_out(
        KillWorker{.worker = worker_in(0), .reason = Reason::shutting_down});
    stand.guards.last().is_stuck("python3 (pid 4711)");
    stand.exchanges.close(stand.exchanges.find(JobId{0}));
    stand.exchanges.expect_dropped(stand.supervisor->exchanges_held());
    stand.supervisor->carry_out(Leave{});
    stand.supervisor.reset();
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("kill", "abandon"));
}

TEST(SupervisorAfterLeave, MayLeaveATreeThatSurvivedTheExitOfItsWorker) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.guards.last().exits(exit_code(1));  // and a process that it started is stuck
    stand.supervisor->carry_out(
        KillWorker{.worker = worker_in(0), .reason = Reason::shutting_down});
    stand.supervisor->carry_out(Leave{});
    stand.supervisor.reset();
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("kill", "abandon"));
}

TEST(SupervisorAfterLeave, MustNotHaveAWorkerThatNobodyToldToEnd) {
    for (const LaneId lane : {native_lane, http_lane, attached_lane}) {
        Stand stand;
        stand.start(worker_in(0), lane);
        if (lane != attached_lane) stand.guards.last().runs();
        stand.supervisor->carry_out(Leave{});
        EXPECT_DEATH(stand.supervisor.reset(), "CHECK failed: .*is_ending");
        stop(stand, worker_in(0));
    }
}

TEST(Supervisor, MustNotStartAWorkerInThePlaceOfOneThatIsNotGone) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    stand.guards.last().runs();
    stand.guards.last().exits(exit_code(1));
    EXPECT_DEATH(stand.start(worker_in(0, 1), native_lane), "CHECK failed: .*is_gone");
}

}  // namespace
}  // namespace turnpike
