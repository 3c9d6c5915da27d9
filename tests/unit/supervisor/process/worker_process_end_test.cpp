#include "supervisor/process/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/unit/supervisor/process/worker_process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Stand = WorkerProcessStand;

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

}  // namespace
}  // namespace turnpike
