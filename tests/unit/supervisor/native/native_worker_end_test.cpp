#include "supervisor/native/native_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/unit/supervisor/native/native_worker_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Stand = NativeWorkerStand;

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
