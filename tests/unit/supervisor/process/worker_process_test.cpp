#include "supervisor/process/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/unit/supervisor/process/worker_process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using Stand = WorkerProcessStand;

// ── the ordinary way ─────────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, TellsTheEngineOfItsStartItsExitAndItsEndInThisOrder) {
    Stand stand;
    stand.start();
    EXPECT_THAT(stand.told, IsEmpty()) << "the guard has not said yet that it runs";
    stand.guard().runs();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "user: started"));
    stand.told.clear();
    stand.guard().exits(exit_code(0));
    EXPECT_THAT(stand.told, ElementsAre("user: exited", "WorkerExited"))
        << "the jobs get their cause before the engine ends them";
    stand.told.clear();
    stand.guard().is_gone();
    EXPECT_THAT(stand.told, ElementsAre("user: gone", "WorkerGone"));
    EXPECT_EQ(stand.last<WorkerGone>().memory, Memory::freed);
}

TEST(WorkerProcess, GivesTheGuardItsCommandAndTheWorkerItsVariables) {
    Stand stand;
    stand.process_deps.environment = {"PATH=/bin", "NAME=old"};
    stand.pool.worker.env = {{"NAME", "new"}};
    stand.pool.worker.folder = "/models";
    stand.process->begin();
    stand.process->start({.command = "serve", .variables = {{"ITS_OWN", "x"}}});
    EXPECT_EQ(stand.guard().orders.command, "serve");
    EXPECT_EQ(stand.guard().orders.label, "lane 0");
    EXPECT_EQ(stand.guard().orders.folder, "/models");
    EXPECT_THAT(stand.guard().environment, Contains("PATH=/bin"));
    EXPECT_THAT(stand.guard().environment, Contains("NAME=new"));
    EXPECT_THAT(stand.guard().environment, Not(Contains("NAME=old")));
    EXPECT_THAT(stand.guard().environment, Contains("TURNPIKE_LANE=0"));
    EXPECT_THAT(stand.guard().environment, Contains("ITS_OWN=x"));
    EXPECT_THAT(stand.guard().environment, Contains("TURNPIKE_RUN=1:2:3"));
}

TEST(WorkerProcess, ShowsItsPidAndHowLongItsStartTook) {
    Stand stand;
    stand.facts().trouble = {.cause = LaneCause::exited,
                             .told = "exit code 3"};  // of the worker before
    stand.start();
    stand.time.advance(40ms);
    stand.guard().runs();
    EXPECT_EQ(stand.facts().pid, stand.guard().worker_pid());
    EXPECT_EQ(stand.facts().start.spawn, Duration{40ms});
    EXPECT_TRUE(stand.facts().trouble.is_none());
    EXPECT_EQ(stand.process->guard(), stand.guard().guard());
    EXPECT_THAT(stand.process->known_processes(),
                ElementsAre(ProcessId{.pid = stand.guard().worker_pid(), .start = 1}));
    EXPECT_EQ(stand.processes_changed, 1);

    stand.end_by(exit_code(0));
    EXPECT_EQ(stand.facts().pid, 0);
    EXPECT_EQ(stand.facts().last_exit, "exit code 0");
    EXPECT_EQ(stand.process->guard(), 0);
    EXPECT_THAT(stand.process->known_processes(), IsEmpty());
    EXPECT_EQ(stand.processes_changed, 2);
}

TEST(WorkerProcess, PutsWhatItPrintsIntoTheLogOfItsLane) {
    Stand stand;
    stand.run();
    stand.guard().prints("loading\n");
    stand.guard().complains("a warning\n");
    stand.loop.poll();
    EXPECT_THAT(stand.logged(), Contains("loading"));
    EXPECT_THAT(stand.logged(), Contains("a warning"));
    stand.end_by(exit_code(0));
    EXPECT_EQ(stand.output.pipes(), 0U) << "a process that still has them is not of this lane";
    EXPECT_THAT(stand.logged(), Contains("ended: exit code 0"));
}

// ── a start that fails ───────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, ReportsAnExitIfItsGuardCannotBeStarted) {
    Stand stand;
    stand.guards.refusal.told = "no pipe could be made: too many open files";
    stand.start();
    EXPECT_THAT(stand.told,
                ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_THAT(stand.facts().trouble.told,
                HasSubstr("it could not be started: no pipe could be made: too many open files"));
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_EQ(stand.crashes[0].command, "serve");
}

TEST(WorkerProcess, TakesAShortageForNoCrash) {
    Stand stand;
    stand.guards.refusal = {.told = "no pipe could be made", .shortage = Shortage::descriptors};
    stand.start();
    EXPECT_THAT(stand.told,
                ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_EQ(stand.last<WorkerExited>().cause, ExitCause::shortage);
    EXPECT_EQ(stand.facts().trouble.cause, LaneCause::shortage);
    EXPECT_TRUE(stand.crashes.empty());
}

TEST(WorkerProcess, ReportsAnExitWithoutAStartIfTheShellCannotRun) {
    Stand stand;
    stand.start();
    stand.end_by({.how = "its folder can't be entered: no such folder"});
    EXPECT_THAT(stand.told,
                ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_EQ(stand.facts().trouble.told, "its folder can't be entered: no such folder");
    EXPECT_THAT(stand.crashes, SizeIs(1));
}

TEST(WorkerProcess, ShowsTheLastWordsOfAWorkerThatExitsAtOnce) {
    Stand stand;
    stand.run();
    stand.guard().complains("sh: 1: uvicorn: not found\n");  // not read before the exit is known
    stand.guard().exits(exit_code(127));
    EXPECT_EQ(stand.facts().trouble.said, "sh: 1: uvicorn: not found");
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("exit code 127"));
    EXPECT_EQ(stand.end.cause, Cause::worker_died);
    EXPECT_EQ(stand.end.told, "exit code 127");
    EXPECT_EQ(stand.end.said, "sh: 1: uvicorn: not found");
}

TEST(WorkerProcess, TakesWhatItsTreePrintsAfterTheExitForLastWordsToo) {
    Stand stand;
    stand.run();
    stand.guard().exits(exit_code(1));
    EXPECT_EQ(stand.facts().trouble.said, "");
    stand.guard().complains("ImportError: no torch\n");
    stand.guard().is_gone();
    EXPECT_EQ(stand.facts().trouble.said, "ImportError: no torch");
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_THAT(stand.crashes[0].log, HasSubstr("err ImportError: no torch\n"));
}

TEST(WorkerProcess, DoesNotShowTheWordsOfTheWorkerBefore) {
    Stand stand;
    stand.run();
    stand.guard().complains("ImportError: no torch\n");
    stand.end_by(exit_code(1));
    stand.process.reset();
    stand.order.worker = {std::uint64_t{1} << 32U | 1U};
    stand.lanes[0].begin(stand.order);
    stand.process = std::make_unique<WorkerProcess>(stand.deps, stand.process_deps, stand.order,
                                                    stand.lane(), stand);
    stand.run();
    stand.end_by(exit_code(1));
    EXPECT_EQ(stand.facts().trouble.told, "exit code 1");
    EXPECT_EQ(stand.facts().trouble.said, "");
    EXPECT_EQ(stand.end.said, "");
    ASSERT_THAT(stand.crashes, SizeIs(2));
    EXPECT_THAT(stand.crashes[1].log,
                StartsWith("turnpike started, pid " + std::to_string(stand.guard().worker_pid())));
    EXPECT_THAT(stand.crashes[1].log, Not(HasSubstr("ImportError")));
}

// ── waits ────────────────────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, CallsEachFunctionAtItsTime) {
    Stand stand;
    std::vector<int> called;
    stand.process->after(20ms, [&] { called.push_back(2); });
    stand.process->after(10ms, [&] {
        called.push_back(1);
        stand.process->after(5ms, [&] { called.push_back(3); });
    });
    stand.pass(15ms);
    EXPECT_THAT(called, ElementsAre(1, 3));
    stand.pass(5ms);
    EXPECT_THAT(called, ElementsAre(1, 3, 2));
    EXPECT_EQ(stand.time.alarms_set(), 0U);
}

TEST(WorkerProcess, CallsNothingOnceItIsDestroyed) {
    Stand stand;
    stand.run();
    stand.process->after(10ms, [] { FAIL() << "its owner is gone"; });
    stand.process->came_up();  // looks at the process table meanwhile
    const int changes = stand.processes_changed;
    stand.process.reset();
    stand.pass(1s);
    EXPECT_THAT(stand.guard().asked, ElementsAre("abandon")) << "its tree must not live on";
    EXPECT_EQ(stand.processes_changed, changes);
}

TEST(WorkerProcess, RenewsTheLoadTimeoutNotForEachLineOfOutput) {
    Stand stand;
    stand.run();
    for (int i = 0; i < 10; ++i) stand.process->progressed();
    EXPECT_EQ(stand.count("LoadProgressed"), 1);
    stand.pass(250ms);
    stand.process->progressed();
    EXPECT_EQ(stand.count("LoadProgressed"), 2);

    stand.pool.settings.load_timeout = 400ms;  // a quarter of it is less than the usual pause
    stand.pass(100ms);
    stand.process->progressed();
    EXPECT_EQ(stand.count("LoadProgressed"), 3);
}

// ── control groups ───────────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, HasAControlGroupOfItsOwnUntilItIsGone) {
    Stand stand;
    stand.process_deps.cgroup_home = stand.folder.file(".");
    stand.run();
    const std::string group = stand.process->group();
    EXPECT_EQ(group, stand.folder.file(".") + "/turnpike-3-1") << "of gate 3, its first start";
    EXPECT_EQ(stand.guard().orders.cgroup, group);
    EXPECT_TRUE(stand.folder.has("turnpike-3-1"));
    stand.guard().exits(exit_code(0));
    EXPECT_TRUE(stand.folder.has("turnpike-3-1")) << "its tree may still be there";
    stand.guard().is_gone();
    EXPECT_FALSE(stand.folder.has("turnpike-3-1"));
    EXPECT_EQ(stand.process->group(), "");
}

TEST(WorkerProcess, HasAnotherControlGroupForEachStart) {
    Stand stand;
    stand.process_deps.cgroup_home = stand.folder.file(".");
    stand.run();
    stand.process = std::make_unique<WorkerProcess>(stand.deps, stand.process_deps, stand.order,
                                                    stand.lane(), stand);
    stand.run();
    EXPECT_TRUE(stand.folder.has("turnpike-3-1"));
    EXPECT_TRUE(stand.folder.has("turnpike-3-2"));
    EXPECT_NE(stand.guards.made[0]->orders.cgroup, stand.guards.made[1]->orders.cgroup);
}

TEST(WorkerProcess, StartsWithoutAControlGroupIfNoneCanBeMade) {
    Stand stand;
    stand.process_deps.cgroup_home = stand.folder.file("nowhere");
    stand.run();
    EXPECT_EQ(stand.guard().orders.cgroup, "");
    stand.end_by(exit_code(0));
    EXPECT_EQ(stand.count("WorkerGone"), 1);
}

}  // namespace
}  // namespace turnpike
