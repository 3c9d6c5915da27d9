#include "supervisor/http/started_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/unit/supervisor/http/started_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Holder = PortStatus::Holder;
using Stand = StartedStand;

// ── orders and ends at bad moments ───────────────────────────────────────────────────────────────

TEST(StartedWorker, ForgetsALookThatEndsAfterItsExit) {
    Stand stand;
    stand.port_status = {.holder = Holder::tree};
    stand.worker->start();
    stand.guard().runs();  // looks at its port now
    stand.guard().exits(exit_code(1));
    stand.settle();
    stand.pass(2s);
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
    EXPECT_EQ(stand.facts().trouble.told, "exit code 1");
}

TEST(StartedWorker, ForgetsALookThatEndsAfterItIsDestroyed) {
    Stand stand;
    stand.port_status = {.holder = Holder::tree};
    stand.worker->start();
    stand.guard().runs();
    stand.worker.reset();
    stand.pass(2s);
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
    EXPECT_THAT(stand.guard().asked, ElementsAre("abandon"));
}

TEST(StartedWorker, IsNeverReadyIfItExitsWhileItsListenerIsLookedAt) {
    Stand stand;
    stand.run();
    stand.listen();
    stand.listener = ListenerId{.number = 6};
    const auto peer = stand.accept();  // looks at its port now
    stand.guard().exits(exit_code(1));
    stand.settle();
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_EQ(stand.count("WorkerReady"), 0);
}

TEST(StartedWorker, StopsPollingOnceItHasExited) {
    Stand stand;
    stand.run();
    stand.listen();
    const auto peer = stand.accept();
    stand.die(1);
    EXPECT_TRUE(peer->is_closed);
    stand.pass(5s);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_EQ(stand.time.alarms_set(), 0U);
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerExited", "WorkerGone"));
}

TEST(StartedWorker, IsEndedByItsGuardInEveryState) {
    for (int state = 0; state < 4; ++state) {
        Stand stand;
        if (state == 0) stand.worker->start();
        if (state == 1) stand.run();
        if (state == 2) stand.run(), stand.listen();
        if (state == 3) stand.come_up();
        stand.worker->stop(Reason::drain_asked);
        stand.worker->kill(Reason::drain_asked);
        EXPECT_THAT(stand.guard().asked, ElementsAre("terminate", "kill"));
        stand.guard().exits(killed_by(SIGTERM));
        stand.guard().is_gone();
        stand.worker->stop(Reason::shutting_down);
        stand.worker->probe(1);
        stand.worker->prove(1);
        stand.worker->cancel(AttemptId{101});
        stand.pass(5s);
        EXPECT_EQ(stand.count("WorkerExited"), 1);
        EXPECT_EQ(stand.count("WorkerGone"), 1);
        EXPECT_EQ(stand.count("ProbeEnded"), 0);
        EXPECT_THAT(stand.crashes, IsEmpty());
    }
}

// ── links that break ─────────────────────────────────────────────────────────────────────────────

TEST(StartedWorker, ReportsABrokenLinkOnlyAfterItsExitCouldBeKnown) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    stand.hang_up(*stand.accept());
    stand.pass(249ms);
    EXPECT_THAT(stand.told, IsEmpty());
    stand.pass(1ms);
    EXPECT_THAT(stand.told, ElementsAre("AttemptEnded"));
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::broken);
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::no_answer);
}

TEST(StartedWorker, SaysNothingOfABrokenLinkIfItsExitComesFirst) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    stand.hang_up(*stand.accept());
    stand.pass(200ms);
    stand.guard().complains("CUDA out of memory\n");
    stand.die(1);
    stand.pass(5s);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::worker_died);
    EXPECT_EQ(exchange->attempt.trouble.said, "CUDA out of memory");
    ASSERT_THAT(stand.crashes, SizeIs(1));
    EXPECT_THAT(stand.crashes[0].inputs, SizeIs(1)) << "it may have died of this job";
}

TEST(StartedWorker, KeepsTheInputOfAReportedBreakForTheCrashReport) {
    Stand stand;
    stand.come_up();
    stand.send(1);
    stand.hang_up(*stand.accept());
    stand.pass(1s);
    stand.exchanges.close(stand.exchanges.find(JobId{1}));  // the client has its answer
    stand.die(1);
    ASSERT_THAT(stand.crashes, SizeIs(1));
    ASSERT_THAT(stand.crashes[0].inputs, SizeIs(1));
    EXPECT_EQ(stand.crashes[0].inputs[0].request, "POST /predict");
}

// ── who listens ──────────────────────────────────────────────────────────────────────────────────

TEST(StartedWorker, LooksAtNoProcessAsLongAsItsListenerIsTheSame) {
    Stand stand;
    stand.come_up();
    const int questions = stand.listener_questions;
    stand.send(1);
    const auto peer = stand.accept();
    stand.answer(*peer, 200);
    for (std::uint64_t job = 2; job < 10; ++job) {
        stand.send(job);
        stand.answer(*peer, 200);
    }
    EXPECT_EQ(stand.count("AttemptEnded"), 9);
    EXPECT_EQ(stand.listener_questions, questions + 1) << "one for each connection";
    stand.worker->probe(1);
    stand.health_answers(200);
    EXPECT_EQ(stand.listener_questions, questions + 2);
    EXPECT_THAT(stand.looks, IsEmpty());
}

TEST(StartedWorker, GoesOnIfItMakesANewListener) {
    Stand stand;
    stand.come_up();
    stand.listener = ListenerId{.number = 6, .owner = 1000};
    stand.port_status.listeners = {ListenerId{.number = 6, .owner = 1000}};
    stand.send(1);
    const auto first = stand.accept();
    stand.settle();
    EXPECT_TRUE(first->is_closed) << "a stranger may have had the port for a moment";
    EXPECT_EQ(first->heard, "");
    EXPECT_THAT(stand.looks, SizeIs(1));
    stand.answer(*stand.accept(), 200);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::answered);
    EXPECT_THAT(stand.looks, SizeIs(1));
}

TEST(StartedWorker, KnowsAllListenersOfItsTree) {
    Stand stand;
    stand.come_up();
    stand.port_status.listeners = {ListenerId{.number = 6}, ListenerId{.number = 7}};
    stand.listener = ListenerId{.number = 6};
    stand.send(1);
    stand.accept();
    stand.settle();
    stand.listener = ListenerId{.number = 7};  // the kernel chooses one for each connection
    stand.answer(*stand.accept(), 200);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::answered);
    EXPECT_THAT(stand.looks, SizeIs(1));
}

TEST(StartedWorker, SendsNothingToAProgramThatHasTakenItsPort) {
    Stand stand;
    stand.come_up();
    stand.lose_port();
    const ExchangePtr exchange = stand.send(1);
    const auto stranger = stand.accept();
    stand.settle();
    EXPECT_TRUE(stranger->is_closed);
    EXPECT_EQ(stranger->heard, "");
    stand.pass(1s);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::undelivered);
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::not_connected);
    EXPECT_THAT(exchange->attempt.trouble.told, HasSubstr("another program listens"));

    stand.worker->probe(2);
    const auto again = stand.accept();
    stand.settle();
    EXPECT_EQ(again->heard, "");
    EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::refused);
    EXPECT_EQ(stand.facts().trouble.cause, LaneCause::port_taken);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("nginx (pid 812) listens on its port"));
}

TEST(StartedWorker, SendsNothingIfNobodyListensAnyMore) {
    Stand stand;
    stand.come_up();
    stand.port_status = {};
    stand.listener = std::nullopt;  // it closed its listener after it took the connection
    stand.send(1);
    stand.accept();
    stand.settle();
    stand.pass(1s);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::undelivered);
}

TEST(StartedWorker, GivesUpIfItsListenerChangesAllTheTime) {
    Stand stand;
    stand.come_up();
    stand.send(1);
    std::uint64_t number = 10;
    while (stand.dialer.waiting() > 0) {
        stand.listener = ListenerId{.number = ++number};
        stand.accept();
        stand.settle();
    }
    EXPECT_EQ(number, 13U);
    stand.pass(1s);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::undelivered);
}

TEST(StartedWorker, LooksForEachConnectionIfTheKernelDoesNotSayWhoListens) {
    Stand stand;
    stand.come_up();
    stand.listener = std::nullopt;
    stand.send(1);
    const auto peer = stand.accept();
    EXPECT_EQ(peer->heard, "");
    stand.settle();
    EXPECT_THAT(stand.looks, SizeIs(1));
    stand.answer(*peer, 200);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::answered);
}

TEST(StartedWorker, SharesOneLookAmongConnectionsThatAreMadeAtOnce) {
    Stand stand;
    stand.come_up();
    stand.lose_port();
    for (std::uint64_t job = 1; job <= 5; ++job) stand.send(job);
    for (int i = 0; i < 5; ++i) stand.dialer.accept();
    stand.worker->cancel(AttemptId{102});  // while it waits for the look
    stand.settle();
    EXPECT_THAT(stand.looks, SizeIs(1));
    stand.pass(1s);
    EXPECT_EQ(stand.count("AttemptEnded"), 5);
}

TEST(StartedWorker, SendsNothingToAProgramThatHasTakenItsSocket) {
    Stand stand("serve --uds {socket}");
    stand.run();
    stand.folder.write("w1", "");
    stand.port_status = {.holder = Holder::stranger, .stranger = "nginx (pid 812)"};
    stand.pass(look_every);
    const auto stranger = stand.accept(ListenerProcess{.pid = 812, .user = 1000});
    stand.settle();
    EXPECT_EQ(stranger->heard, "");
    EXPECT_EQ(stand.count("WorkerReady"), 0);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("nginx (pid 812) listens on its socket"));
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

TEST(StartedWorker, FailsAProofWithoutAnAnswerOnlyAfterItsExitCouldBeKnown) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(7);
    const auto peer = stand.accept();
    EXPECT_THAT(peer->heard, HasSubstr("POST /predict HTTP/1.1\r\n"));
    stand.hang_up(*peer);
    stand.pass(249ms);
    EXPECT_EQ(stand.count("ProofEnded"), 0);
    stand.pass(1ms);
    EXPECT_EQ(stand.count("ProofEnded"), 1);
    EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::failed);
    EXPECT_EQ(stand.last<ProofEnded>().proof, 7U);
}

TEST(StartedWorker, FailsNoProofIfItsExitComesFirst) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(7);
    stand.hang_up(*stand.accept());
    stand.pass(100ms);
    stand.die(1);
    stand.pass(5s);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
}

TEST(StartedWorker, FailsAProofThatIsAnsweredWithAnotherStatus) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(7);
    stand.answer(*stand.accept(), 500);
    EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::failed);
}

}  // namespace
}  // namespace turnpike
