#include "supervisor/native/native_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/supervisor/native/native_worker_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Stand = NativeWorkerStand;

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

TEST(NativeWorker, RunsOutOfGpuMemoryOnlyOnALaneWithAGpu) {
    for (const bool has_gpu : {false, true}) {
        Stand stand(has_gpu ? std::vector<Gpu>{{.uuid = "GPU-1"}} : std::vector<Gpu>{});
        stand.come_up();
        stand.send(1);
        stand.say(
            wire::Failed{.id = stand.peer.jobs.at(0).id, .why = wire::FailWhy::out_of_memory});
        EXPECT_EQ(stand.last<AttemptEnded>().verdict,
                  has_gpu ? Verdict::out_of_memory : Verdict::model_failed);
    }
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

}  // namespace
}  // namespace turnpike
