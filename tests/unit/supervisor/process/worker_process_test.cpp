#include "supervisor/process/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/supervisor/process/process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// A process whose user only notes its calls, among the events for the engine.
struct Stand final : ProcessStand, ProcessUser {
    std::vector<ExchangePtr> aboard;
    Trouble end;
    std::unique_ptr<WorkerProcess> process =
        std::make_unique<WorkerProcess>(deps, process_deps, order, lane(), *this);

    explicit Stand(std::vector<Gpu> on = {}) : ProcessStand(std::move(on)) {}

    void process_started() override { told.emplace_back("user: started"); }
    [[nodiscard]] std::vector<ExchangePtr> suspects() const override { return aboard; }
    void process_exited(const Trouble& how) override {
        told.emplace_back("user: exited");
        end = how;
    }
    void process_gone() override { told.emplace_back("user: gone"); }

    void start() {
        process->begin();
        process->start({.command = "serve"});
    }
    void run() {
        start();
        guard().runs();
    }
    void end_by(const WorkerEnd& how) {
        guard().exits(how);
        guard().is_gone();
    }
    void rest_of_looks() {
        EXPECT_TRUE(loop.run_until([this] { return !gpus.is_hanging(); }));
    }
    ExchangePtr job(std::string_view target, std::string_view body) {
        ExchangePtr exchange = exchanges.open(JobId{aboard.size()});
        exchange->method = "POST";
        exchange->target = target;
        exchange->body.append(store, body, [](int) {});
        settle();
        aboard.push_back(exchange);
        return exchange;
    }
};

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
    stand.guards.refusal = "no pipe could be made: too many open files";
    stand.start();
    EXPECT_THAT(stand.told,
                ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_THAT(stand.facts().trouble.told,
                HasSubstr("it could not be started: no pipe could be made: too many open files"));
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_EQ(stand.crashes[0].command, "serve");
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

// ── orders ───────────────────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, WritesNoCrashReportAboutAWorkerThatItWasToldToEnd) {
    for (const Reason why : {Reason::shutting_down, Reason::restart_asked, Reason::replaced}) {
        Stand stand;
        stand.run();
        stand.process->terminate(why);
        EXPECT_THAT(stand.guard().asked, ElementsAre("terminate"));
        stand.end_by(killed_by(SIGTERM));
        EXPECT_THAT(stand.crashes, IsEmpty());
        EXPECT_TRUE(stand.facts().trouble.is_none()) << "nothing went wrong";
        EXPECT_EQ(stand.count("WorkerGone"), 1);
    }
}

TEST(WorkerProcess, WritesOneCrashReportAboutAWorkerThatEndedByItself) {
    Stand stand;
    stand.run();
    stand.time.advance(3s);
    stand.guard().complains("Segmentation fault\n");
    stand.guard().exits(killed_by(SIGSEGV));
    EXPECT_THAT(stand.crashes, IsEmpty()) << "its tree may still print";
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    const CrashReport& report = stand.crashes[0];
    EXPECT_EQ(report.why, "exited");
    EXPECT_EQ(report.signal, SIGSEGV);
    EXPECT_EQ(report.exit_code, std::nullopt);
    EXPECT_EQ(report.lived, Duration{3s});
    EXPECT_EQ(report.pid, stand.guard().worker_pid());
    EXPECT_THAT(report.log, HasSubstr("err Segmentation fault\n"));
}

TEST(WorkerProcess, EndsWithTheFirstReasonThatItWasGiven) {
    Stand stand;
    stand.run();
    stand.process->terminate(Reason::proof_failed);
    stand.process->kill(Reason::shutting_down);
    EXPECT_THAT(stand.guard().asked, ElementsAre("terminate", "kill"));
    stand.end_by(killed_by(SIGKILL));
    ASSERT_THAT(stand.crashes, SizeIs(1)) << "it was not the shutdown that ended it";
    EXPECT_EQ(stand.crashes[0].why, "proof_failed");
}

TEST(WorkerProcess, CanBeKilledBeforeItHasStarted) {
    Stand stand;
    stand.start();
    stand.process->kill(Reason::drain_asked);
    EXPECT_THAT(stand.guard().asked, ElementsAre("kill"));
    stand.end_by(killed_by(SIGKILL));
    EXPECT_THAT(stand.told,
                ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_THAT(stand.crashes, IsEmpty());
}

TEST(WorkerProcess, StillStartsIfTheOrderToEndCrossesItsStart) {
    Stand stand;
    stand.start();
    stand.process->set_trouble({.cause = LaneCause::wrong_answer, .told = "a wrong answer"});
    stand.process->kill(Reason::proof_failed);
    stand.guard().runs();
    EXPECT_EQ(stand.facts().trouble.told, "a wrong answer") << "that is why it ends";
    stand.end_by(killed_by(SIGKILL));
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "user: started", "user: exited",
                                        "WorkerExited", "user: gone", "WorkerGone"));
    EXPECT_EQ(stand.facts().trouble.told, "a wrong answer");
}

TEST(WorkerProcess, KeepsItsOwnEndIfItIsToldToEndAfterItsExit) {
    Stand stand;
    stand.run();
    stand.guard().exits(exit_code(3));
    stand.process->kill(Reason::shutting_down);  // a process of its tree is still there
    EXPECT_THAT(stand.guard().asked, ElementsAre("kill"));
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_EQ(stand.crashes[0].why, "exited");
    EXPECT_EQ(stand.facts().trouble.told, "exit code 3");
}

TEST(WorkerProcess, TakesOrdersAfterItIsGone) {
    Stand stand;
    stand.run();
    stand.end_by(exit_code(0));
    const auto told = stand.told;
    stand.process->terminate(Reason::shutting_down);
    stand.process->kill(Reason::shutting_down);
    EXPECT_THAT(stand.guard().asked, IsEmpty()) << "its guard has ended";
    EXPECT_EQ(stand.told, told);
}

TEST(WorkerProcess, GivesItsJobsTheMisdeedAsTheCauseInsteadOfTheSignal) {
    Stand stand;
    stand.run();
    stand.process->set_trouble({.cause = LaneCause::misbehaved, .told = "it broke the protocol"});
    stand.process->kill(Reason::misbehaved);
    stand.guard().complains("aborted\n");
    stand.end_by(killed_by(SIGKILL));
    EXPECT_EQ(stand.end.cause, Cause::worker_ended);
    EXPECT_EQ(stand.end.told, "it broke the protocol");
    EXPECT_EQ(stand.end.said, "aborted");
    EXPECT_EQ(stand.facts().trouble.told, "it broke the protocol");
}

TEST(WorkerProcess, SaysHowLongItWasSilentIfItLoadedForTooLong) {
    Stand stand;
    stand.pool.settings.load_timeout = 90s;
    stand.run();
    stand.process->kill(Reason::load_silent);
    stand.guard().prints("fetching weights\n");
    stand.end_by(killed_by(SIGKILL));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("no progress for"));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("(load_timeout)"));
    EXPECT_EQ(stand.facts().trouble.said, "fetching weights");
}

TEST(WorkerProcess, SaysWhichProcessSurvivesAKill) {
    Stand stand;
    stand.run();
    stand.process->kill(Reason::not_answering);
    stand.guard().is_stuck("python3 (pid 4711)");
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("python3 (pid 4711) survives SIGKILL"));
    EXPECT_THAT(stand.logged(), Contains("python3 (pid 4711) survives SIGKILL"));
    EXPECT_EQ(stand.count("WorkerExited"), 0);
    stand.end_by(killed_by(SIGKILL));
    EXPECT_EQ(stand.count("WorkerGone"), 1);
}

// ── the inputs of a crash ────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, KeepsTheInputsOfTheJobsAboardUpToTheirMaximum) {
    Stand stand;
    stand.process_deps.crashes.input_max = Bytes{8};
    stand.run();
    stand.job("/predict?n=1", "12345");
    stand.job("/predict", "67890");
    stand.guard().exits(exit_code(1));
    stand.aboard.clear();  // as its user forgets them
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    ASSERT_THAT(stand.crashes[0].inputs, SizeIs(2));
    EXPECT_EQ(stand.crashes[0].inputs[0].request, "POST /predict") << "a query may be secret";
    EXPECT_EQ(stand.crashes[0].inputs[0].body, "12345");
    EXPECT_FALSE(stand.crashes[0].inputs[0].is_cut);
    EXPECT_EQ(stand.crashes[0].inputs[1].body, "678");
    EXPECT_TRUE(stand.crashes[0].inputs[1].is_cut);
}

TEST(WorkerProcess, KeepsNoInputsIfTheConfigurationForbidsIt) {
    Stand stand;
    stand.process_deps.crashes.inputs = false;
    stand.run();
    stand.job("/predict", "secret");
    stand.end_by(exit_code(1));
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_THAT(stand.crashes[0].inputs, IsEmpty());
}

// ── the memory of its GPU ────────────────────────────────────────────────────────────────────────

TEST(WorkerProcess, IsGoneOnlyOnceTheMemoryOfItsGpuIsLookedAt) {
    for (const bool is_held : {false, true}) {
        Stand stand({{.index = 0, .uuid = "gpu"}});
        const pid_t pid = FakeGuard::pid_min + 1;
        if (is_held)
            stand.gpu_usage =
                GpuUsage{.memory_used = {}, .processes = {{.pid = pid, .memory = {}}}};
        stand.run();
        stand.guard().exits(killed_by(SIGKILL));
        stand.guard().is_gone({pid});
        EXPECT_EQ(stand.count("WorkerGone"), 0) << "its GPU has not been looked at yet";
        stand.rest_of_looks();
        EXPECT_EQ(stand.last<WorkerGone>().memory, is_held ? Memory::held : Memory::freed);
        EXPECT_EQ(stand.count("MemoryFreed"), 0);
        if (!is_held) continue;
        stand.time.advance(100ms);
        stand.rest_of_looks();
        EXPECT_EQ(stand.count("MemoryFreed"), 0) << "it is still held";
        stand.gpu_usage = GpuUsage{};
        stand.time.advance(100ms);
        stand.rest_of_looks();
        EXPECT_EQ(stand.count("MemoryFreed"), 1);
    }
}

TEST(WorkerProcess, DoesNotWaitForTheGpuWhenTheGateEnds) {
    Stand stand({{.index = 0, .uuid = "gpu"}});
    stand.run();
    stand.process->kill(Reason::shutting_down);
    stand.end_by(killed_by(SIGKILL));
    EXPECT_EQ(stand.count("WorkerGone"), 1) << "its driver may hang";
}

TEST(WorkerProcess, IsNotHeardOfIfItIsDestroyedWhileItsGpuIsLookedAt) {
    Stand stand({{.index = 0, .uuid = "gpu"}});
    stand.run();
    stand.end_by(exit_code(1));
    stand.process.reset();
    stand.rest_of_looks();
    EXPECT_EQ(stand.count("WorkerGone"), 0);
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

}  // namespace
}  // namespace turnpike
