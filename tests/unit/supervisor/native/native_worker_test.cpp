#include "supervisor/native/native_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/native/native_peer.h"
#include "tests/unit/supervisor/process/process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A native worker whose process and whose frames are the test's.
struct Stand : ProcessStand {
    std::unique_ptr<NativeWorker> worker;
    NativePeer peer{loop};
    ActingReader reader;

    Stand() {
        pool.worker.model = {.kind = ModelChoice::Kind::python,
                             .path = "/models/digits.py",
                             .name = "Digits",
                             .text = "digits.py:Digits"};
        pool.worker.python = "/usr/bin/python3";
        worker = std::make_unique<NativeWorker>(deps, process_deps, order, lane());
    }
    ~Stand() {
        worker.reset();
        loop.poll();
    }

    void start() {
        worker->start();
        peer.own = std::move(guard().link);
    }
    void run() {
        start();
        guard().runs();
    }
    void load() {
        run();
        say(wire::Hello{.sdk = "python 1"});
    }
    void come_up() {
        load();
        say(wire::Ready{.slots = 2, .batch = 3});
        hear();
        peer.told.clear();
        told.clear();
    }
    /// Sends a frame, and lets the gate hear it.
    void say(const wire::WorkerFrame& frame) {
        peer.say(bytes_of(frame));
        loop.poll();
    }
    /// The worker closes its socket, as the kernel does when it dies.
    void close_link() {
        peer.own = UniqueFd();
        loop.poll();
    }
    /// Returns what the worker has been told so far, besides jobs.
    const std::vector<std::string>& hear() {
        loop.poll();
        peer.hear();
        return peer.told;
    }
    ExchangePtr send(std::uint64_t job) {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->name = "job-" + std::to_string(job);
        exchange->method = "POST";
        exchange->target = "/predict";
        exchange->answer.set_reader(&reader);
        exchange->body.complete(store, [](int) {});
        settle();
        worker->send({.worker = order.worker, .job = {job}, .attempt = {100 + job}});
        hear();
        return exchange;
    }
};

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, ComesUpWithHelloLoadingAndReady) {
    Stand stand;
    stand.start();
    stand.say(wire::Hello{.sdk = "python 1"});
    EXPECT_THAT(stand.told, IsEmpty()) << "no frame counts before the engine knows that it runs";
    stand.guard().runs();
    EXPECT_THAT(stand.hear(), ElementsAre("welcome to lane 0 of p"));
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted"));
    EXPECT_EQ(stand.facts().sdk, "python 1");

    stand.pass(2s);
    stand.say(wire::Loading{.phase = wire::LoadPhase::loading, .permille = 500, .text = "weights"});
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "LoadProgressed"));
    EXPECT_EQ(stand.facts().start.import, Duration{2s});
    ASSERT_TRUE(stand.facts().loading);
    EXPECT_EQ(stand.facts().loading->permille, 500);
    EXPECT_EQ(stand.facts().loading->text, "weights");

    stand.pass(3s);
    stand.say(wire::Ready{.slots = 2, .batch = 3, .has_example = true, .facts = "{}"});
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "LoadProgressed", "WorkerReady"));
    EXPECT_EQ(stand.last<WorkerReady>().slots, 2U);
    EXPECT_EQ(stand.last<WorkerReady>().batch, 3U);
    EXPECT_TRUE(stand.last<WorkerReady>().has_example);
    EXPECT_EQ(stand.facts().start.load, Duration{3s});
    EXPECT_FALSE(stand.facts().loading) << "it does not load any more";
    EXPECT_TRUE(stand.kept().has_come_up);
}

TEST(NativeWorker, MeasuresItsLoadFromItsStartIfItReportsNoImport) {
    Stand stand;
    stand.load();
    stand.pass(4s);
    stand.say(wire::Ready{});
    EXPECT_EQ(stand.facts().start.load, Duration{4s});
    EXPECT_FALSE(stand.facts().start.import);
}

TEST(NativeWorker, TellsPeopleIfNoHelloComesInTime) {
    Stand stand;
    stand.run();
    stand.pass(9999ms);
    EXPECT_TRUE(stand.facts().trouble.is_none());
    stand.pass(1ms);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("it has not said hello"));
    EXPECT_EQ(stand.count("WorkerMisbehaved"), 0) << "load_timeout ends it, if anything does";
    stand.say(wire::Hello{});
    EXPECT_TRUE(stand.facts().trouble.is_none()) << "better late";
}

TEST(NativeWorker, WaitsForNoHelloAfterItsExit) {
    Stand stand;
    stand.run();
    stand.guard().exits(exit_code(1));
    stand.pass(20s);
    EXPECT_EQ(stand.facts().trouble.told, "exit code 1");
    EXPECT_EQ(stand.time.alarms_set(), 0U);
}

TEST(NativeWorker, CountsItsOutputAsProgressOnlyWhileItLoads) {
    Stand stand;
    stand.run();
    stand.guard().prints("importing\n");
    stand.loop.poll();
    stand.worker->process_printed();  // as the supervisor calls it
    EXPECT_EQ(stand.count("LoadProgressed"), 1);
    EXPECT_EQ(stand.facts().last_line, "importing");
    stand.say(wire::Hello{});
    stand.say(wire::Ready{});
    stand.pass(1s);
    stand.worker->process_printed();
    EXPECT_EQ(stand.count("LoadProgressed"), 1);
}

TEST(NativeWorker, ShowsWhatItLogs) {
    Stand stand;
    stand.load();
    stand.say(wire::Log{.level = wire::LogLevel::warning, .text = "no compiler"});
    EXPECT_THAT(stand.logged(), Contains("no compiler"));
}

// Otherwise the warnings of the worker that serves would be the last words of the next one.
TEST(NativeWorker, DoesNotShowTheWarningsOfAnotherWorkerOfItsLaneAsItsOwn) {
    Stand stand;
    stand.come_up();
    const StartWorker next{.worker = {2}, .lane = {0}, .generation = {2}, .is_next = true};
    stand.lanes[0].begin(next);
    NativeWorker beside(stand.deps, stand.process_deps, next, stand.lane());
    beside.start();
    stand.guard().runs();
    stand.say(wire::Log{.level = wire::LogLevel::warning, .text = "slow disk"});
    stand.guard().exits(exit_code(1));
    EXPECT_EQ(stand.lanes[0].next.trouble.said, "");
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_THAT(stand.crashes[0].log, Not(HasSubstr("slow disk")));

    stand.guards.made[0]->exits(exit_code(1));
    EXPECT_EQ(stand.facts().trouble.said, "slow disk");
}

// ── probes ───────────────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, IgnoresProbesAndProofsUntilItIsUp) {
    Stand stand;
    stand.worker->probe(1);
    stand.load();
    stand.hear();
    stand.peer.told.clear();
    stand.worker->probe(2);
    stand.worker->prove(1);
    EXPECT_THAT(stand.hear(), IsEmpty());
    EXPECT_THAT(stand.peer.jobs, IsEmpty());
    stand.say(wire::Ready{});
    stand.worker->probe(3);
    EXPECT_THAT(stand.hear(), ElementsAre("ping 4"));
    stand.say(wire::Pong{4});
    EXPECT_EQ(stand.last<ProbeEnded>().probe, 3U);
    EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::answered);
}

TEST(NativeWorker, AnswersNoProbeOnceItIsOver) {
    Stand stand;
    stand.come_up();
    stand.worker->probe(1);
    stand.peer.say(bytes_of(wire::Pong{2}));  // on its way, but not heard yet
    stand.guard().exits(exit_code(1));
    stand.loop.poll();
    stand.worker->probe(2);
    EXPECT_EQ(stand.count("ProbeEnded"), 0);
}

// ── stacks ───────────────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, PutsItsStacksIntoTheLogAndIntoTheRecordOfTheSlowJob) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    EXPECT_TRUE(stand.worker->ask_stacks(AttemptId{101}));
    EXPECT_TRUE(stand.worker->ask_stacks({})) << "somebody else asks, too";
    EXPECT_THAT(stand.hear(), ElementsAre("ask_stacks 1")) << "one answer will do";
    stand.say(wire::Stacks{.id = 1, .text = "Thread 1"});
    EXPECT_THAT(stand.logged(), Contains("Thread 1"));
    EXPECT_EQ(exchange->attempt.stacks, "Thread 1");
    stand.pass(5s);
    EXPECT_THAT(stand.dumped, IsEmpty());
    EXPECT_TRUE(stand.worker->ask_stacks({}));
    EXPECT_THAT(stand.hear(), ElementsAre("ask_stacks 1", "ask_stacks 2"));
}

TEST(NativeWorker, LetsAToolDumpTheStacksIfItDoesNotAnswerInTime) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    EXPECT_TRUE(stand.worker->ask_stacks(AttemptId{101}));
    stand.pass(1999ms);
    EXPECT_THAT(stand.dumped, IsEmpty());
    stand.pass(1ms);
    EXPECT_THAT(stand.dumped, ElementsAre(stand.guard().guard()));
    stand.say(wire::Stacks{.id = 1, .text = "too late"});
    EXPECT_THAT(stand.logged(), Not(Contains("too late")));
    EXPECT_EQ(exchange->attempt.stacks, "");
    EXPECT_EQ(stand.count("WorkerMisbehaved"), 0) << "a late answer is allowed";
}

TEST(NativeWorker, DumpsNoStacksAfterItsExit) {
    Stand stand;
    EXPECT_FALSE(stand.worker->ask_stacks({})) << "it does not read frames yet";
    stand.come_up();
    EXPECT_TRUE(stand.worker->ask_stacks({}));
    stand.guard().exits(exit_code(1));
    stand.pass(5s);
    EXPECT_THAT(stand.dumped, IsEmpty());
    EXPECT_FALSE(stand.worker->ask_stacks({}));
}

// ── orders ───────────────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, IsTerminatedIfItMustStopBeforeItSaysHello) {
    Stand stand;
    stand.run();
    stand.worker->stop(Reason::drain_asked);
    EXPECT_THAT(stand.guard().asked, ElementsAre("terminate"));
    EXPECT_THAT(stand.hear(), IsEmpty());
}

TEST(NativeWorker, IsToldToStopWhileItLoads) {
    Stand stand;
    stand.load();
    stand.worker->stop(Reason::drain_asked);
    EXPECT_THAT(stand.hear(), ElementsAre("welcome to lane 0 of p", "stop"));
    EXPECT_THAT(stand.guard().asked, IsEmpty());
}

TEST(NativeWorker, IsToldToStopOnceItIsUp) {
    Stand stand;
    stand.come_up();
    stand.worker->stop(Reason::replaced);
    EXPECT_THAT(stand.hear(), ElementsAre("stop"));
    EXPECT_THAT(stand.guard().asked, IsEmpty());
    stand.close_link();
    stand.guard().exits(exit_code(0));
    stand.guard().is_gone();
    stand.pass(1s);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
    EXPECT_THAT(stand.crashes, IsEmpty());
    EXPECT_TRUE(stand.facts().trouble.is_none());
}

TEST(NativeWorker, IsKilledByItsGuardInEveryState) {
    for (int state = 0; state < 4; ++state) {
        Stand stand;
        if (state == 0) stand.start();
        if (state == 1) stand.run();
        if (state == 2) stand.load();
        if (state == 3) stand.come_up();
        stand.worker->kill(Reason::not_answering);
        EXPECT_THAT(stand.guard().asked, ElementsAre("kill"));
        stand.guard().exits(killed_by(SIGKILL));
        stand.guard().is_gone();
        stand.pass(20s);
        EXPECT_EQ(stand.count("WorkerExited"), 1);
        EXPECT_EQ(stand.count("WorkerGone"), 1);
        EXPECT_EQ(stand.count("WorkerMisbehaved"), 0);
        ASSERT_THAT(stand.crashes, SizeIs(1));
        EXPECT_EQ(stand.crashes[0].why, "not_answering");
    }
}

TEST(NativeWorker, TakesOrdersAfterItsEnd) {
    Stand stand;
    stand.come_up();
    stand.guard().exits(exit_code(0));
    stand.guard().is_gone();
    const auto told = stand.told;
    stand.worker->stop(Reason::shutting_down);
    stand.worker->kill(Reason::shutting_down);
    stand.worker->cancel(AttemptId{101});
    stand.worker->prove(1);
    stand.pass(1s);
    EXPECT_EQ(stand.told, told);
    EXPECT_THAT(stand.guard().asked, IsEmpty());
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

TEST(NativeWorker, MisbehavesOnceIfItBreaksTheProtocol) {
    Stand stand;
    stand.run();
    stand.peer.say(bytes_of(wire::Ready{}) + bytes_of(wire::Ready{}));  // without a hello
    stand.loop.poll();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerMisbehaved"));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("it broke the protocol: "));
    stand.pass(9s);
    EXPECT_EQ(stand.count("WorkerMisbehaved"), 1) << "its link is closed, and that is no more";
    stand.worker->kill(Reason::misbehaved);  // as the engine orders
    stand.guard().exits(killed_by(SIGKILL));
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_THAT(stand.crashes[0].trouble, HasSubstr("it broke the protocol: "));
}

TEST(NativeWorker, KeepsTheBreachAsItsTroubleAlthoughNoHelloComes) {
    Stand stand;
    stand.run();
    stand.say(wire::Ready{});  // without a hello
    const std::string breach = stand.facts().trouble.told;
    EXPECT_THAT(breach, HasSubstr("it broke the protocol: "));
    stand.pass(11s);  // while it survives the kill
    EXPECT_EQ(stand.facts().trouble.told, breach);
}

TEST(NativeWorker, KeepsWhatIsWrongWithItAsItsTroubleOnceItMustEnd) {
    Stand stand;
    stand.run();
    stand.worker->kill(Reason::drain_asked);
    stand.guard().is_stuck("python3 (pid 4711)");
    stand.pass(11s);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("survives SIGKILL"));
}

TEST(NativeWorker, HearsNothingAfterABreach) {
    Stand stand;
    stand.load();
    stand.peer.say(bytes_of(wire::Hello{}) + bytes_of(wire::Ready{}));  // hello comes twice
    stand.loop.poll();
    EXPECT_EQ(stand.count("WorkerMisbehaved"), 1);
    EXPECT_EQ(stand.count("WorkerReady"), 0);
}

TEST(NativeWorker, TakesAClosedSocketForADeathIfTheExitFollowsInTime) {
    Stand stand;
    stand.come_up();
    stand.close_link();
    stand.pass(249ms);
    EXPECT_THAT(stand.told, IsEmpty());
    stand.guard().exits(killed_by(SIGSEGV));
    stand.guard().is_gone();
    stand.pass(1s);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("SIGSEGV"));
}

TEST(NativeWorker, MisbehavesIfItClosesItsSocketAndLivesOn) {
    Stand stand;
    stand.come_up();
    stand.close_link();
    stand.pass(250ms);
    EXPECT_THAT(stand.told, ElementsAre("WorkerMisbehaved"));
    EXPECT_EQ(stand.facts().trouble.told, "it closed its socket");
    stand.pass(10s);
    EXPECT_EQ(stand.count("WorkerMisbehaved"), 1);
}

TEST(NativeWorker, GivesItsJobsTheCauseOfItsDeath) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    ASSERT_THAT(stand.peer.jobs, SizeIs(1));
    stand.guard().complains("CUDA error: device-side assert\n");
    stand.guard().exits(killed_by(SIGABRT));
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::worker_died);
    EXPECT_THAT(exchange->attempt.trouble.told, HasSubstr("SIGABRT"));
    EXPECT_EQ(exchange->attempt.trouble.said, "CUDA error: device-side assert");
    EXPECT_EQ(stand.count("AttemptEnded"), 0) << "the exit says all";
    stand.guard().is_gone();
    ASSERT_THAT(stand.crashes, SizeIs(1));
    ASSERT_THAT(stand.crashes[0].inputs, SizeIs(1));
    EXPECT_EQ(stand.crashes[0].inputs[0].request, "POST /predict");
}

TEST(NativeWorker, RefusesAJobThatComesAfterItsEnd) {
    Stand stand;
    stand.come_up();
    stand.guard().exits(exit_code(1));
    const ExchangePtr exchange = stand.send(1);
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::worker_died);
    EXPECT_THAT(stand.peer.jobs, IsEmpty());
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited"));
}

TEST(NativeWorker, HearsNoFrameThatItSentBeforeItsExit) {
    Stand stand;
    stand.load();
    stand.peer.say(bytes_of(wire::Ready{}));  // not heard yet
    stand.guard().exits(exit_code(1));
    stand.loop.poll();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerExited"));
    EXPECT_FALSE(stand.kept().has_come_up);
}

TEST(NativeWorker, ForgetsTheSourcesOfAFirstGenerationThatNeverCameUp) {
    for (const bool came_up : {false, true}) {
        Stand stand;
        stand.kept().folder = stand.folder.file("generation");
        std::filesystem::create_directories(stand.kept().folder + "/sources");
        stand.folder.write("generation/sources/x", "print(");
        came_up ? stand.come_up() : stand.load();
        stand.guard().exits(exit_code(1));
        stand.guard().is_gone();
        stand.settle();
        EXPECT_EQ(std::filesystem::exists(stand.kept().folder + "/sources/x"), came_up);
    }
}

}  // namespace
}  // namespace turnpike
