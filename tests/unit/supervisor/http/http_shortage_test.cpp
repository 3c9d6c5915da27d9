// What Turnpike itself lacks, so that it can't reach a worker, says nothing about the worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "os/shortage.h"
#include "supervisor/http/attached_worker.h"
#include "tests/unit/supervisor/http/started_stand.h"

namespace turnpike {
namespace {

using testing::HasSubstr;
using Stand = StartedStand;

struct Lack {
    ConnectFailure failure;
    Shortage shortage;
};
const std::vector<Lack> lacks = {{ConnectFailure::shortage, Shortage::descriptors},
                                 {ConnectFailure::no_port, Shortage::ports}};

TEST(HttpShortage, OfAJobEndsTheJobAndIsNoBrokenLink) {
    for (const Lack& lack : lacks) {
        Stand stand;
        stand.come_up();
        const ExchangePtr exchange = stand.send(1);
        stand.dialer.fail(lack.failure);
        EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::shortage) << "at once";
        EXPECT_EQ(exchange->attempt.trouble.cause, Cause::shortage);
        if (lack.shortage == Shortage::ports) {
            EXPECT_EQ(exchange->attempt.trouble.told, text_of(Shortage::ports));
        }
        stand.pass(1min);
        EXPECT_EQ(stand.told, std::vector<std::string>{"AttemptEnded"});
    }
}

TEST(HttpShortage, OfADiskThatDoesNotGiveABodyBackIsNoBrokenLink) {
    Stand stand;
    stand.come_up();
    stand.remove_folder();
    ExchangePtr exchange = stand.exchanges.open(JobId{1});
    exchange->method = "POST";
    exchange->target = "/predict";
    exchange->answer.set_reader(&stand.reader);
    exchange->body.append(stand.store, std::string(10 * stand.store.memory_max, 'x'), [](int) {});
    stand.settle();
    stand.worker->send({.worker = stand.order.worker, .job = {1}, .attempt = {101}});
    const auto peer = stand.accept();
    stand.settle();
    EXPECT_TRUE(peer->is_closed);
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::shortage);
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::body_unreadable);
}

TEST(HttpShortage, OfAProbeIsNoAnswerAndNoSilence) {
    for (const Lack& lack : lacks) {
        Stand stand;
        stand.come_up();
        stand.worker->probe(3);
        stand.dialer.fail(lack.failure);
        EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::not_sent);
        EXPECT_EQ(stand.facts().trouble.cause, LaneCause::shortage);
        EXPECT_THAT(stand.facts().trouble.told, HasSubstr(text_of(lack.shortage)));
        stand.worker->probe(4);
        stand.health_answers(200);
        EXPECT_TRUE(stand.facts().trouble.is_none()) << "it was reached again";
    }
}

TEST(HttpShortage, WhileAWorkerComesUpIsNotItsSilence) {
    for (const Lack& lack : lacks) {
        Stand stand;
        stand.run();
        stand.listen();
        for (int i = 1; i <= 100; ++i) {
            stand.dialer.fail(lack.failure);
            EXPECT_EQ(stand.count("LoadProgressed"), i);
            stand.pass(poll_every);
        }
        stand.health_answers(200);
        EXPECT_EQ(stand.count("WorkerReady"), 1);
    }
}

TEST(HttpShortage, OfALookAtWhoListensIsNoStranger) {
    Stand stand;
    stand.come_up();
    stand.port_status = {.holder = PortStatus::Holder::unknown, .shortage = Shortage::memory};
    stand.listener = ListenerId{.number = 9, .owner = 1000};
    stand.send(1);
    stand.accept();
    stand.settle();
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::shortage);
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

TEST(HttpShortage, OfAProofIsNoJudgementHoweverLongItLasts) {
    for (const Lack& lack : lacks) {
        Stand stand;
        stand.come_up();
        stand.worker->prove(7);
        for (int i = 1; i <= 1000; ++i) {
            stand.dialer.fail(lack.failure);
            ASSERT_EQ(stand.count("ProofEnded"), i) << "each tells the engine to go on waiting";
            EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::not_sent);
            EXPECT_EQ(stand.last<ProofEnded>().proof, 7U);
            stand.pass(poll_every);
        }
        stand.answer(*stand.accept(), 500);
        EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::failed) << "judged by its answer";
        EXPECT_EQ(stand.last<ProofEnded>().proof, 7U);
        stand.pass(1min);
        EXPECT_EQ(stand.count("ProofEnded"), 1001);
    }
}

TEST(HttpShortage, OfAProofWhoseBodyIsOnDiskIsNoJudgement) {
    Stand stand;
    stand.pool.proof.body = std::string(10 * stand.store.memory_max, 'x');
    stand.come_up();
    const std::string spool = stand.store.folder;
    stand.remove_folder();
    stand.worker->prove(7);
    const auto cut = stand.accept();
    stand.settle();
    EXPECT_TRUE(cut->is_closed);
    EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::not_sent);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("the disk of gate.spool does not keep"));
    stand.store.folder = spool;
    stand.pass(poll_every);
    const auto whole = stand.accept();
    EXPECT_TRUE(stand.loop.run_until(
        [&] { return whole->heard.ends_with("\r\n\r\n" + stand.pool.proof.body); }));
}

TEST(HttpShortage, OfAProofDoesNotDisturbALaterOne) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(7);
    stand.dialer.fail(ConnectFailure::shortage);
    stand.pass(poll_every / 2);
    stand.worker->prove(8);
    const auto peer = stand.accept();
    stand.pass(poll_every * 4);
    EXPECT_FALSE(peer->is_closed) << "the first one is not tried again";
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    stand.answer(*peer, 500);
    EXPECT_EQ(stand.last<ProofEnded>().proof, 8U);
}

TEST(HttpShortage, OfAProofIsForgottenWithItsWorker) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(7);
    stand.dialer.fail(ConnectFailure::shortage);
    stand.worker->kill(Reason::restart_asked);
    stand.die(9);
    stand.pass(1min);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_EQ(stand.count("ProofEnded"), 1);
}

TEST(HttpShortage, OfAnAttachedWorkersProofDoesNotDetachIt) {
    HttpProcessStand stand;
    const WorkerUrl url{.host = "127.0.0.1", .port = 9000, .prefix = ""};
    stand.worker =
        std::make_unique<AttachedWorker>(stand.deps, stand.order, stand.pool, url, nullptr);
    stand.worker->start();
    ASSERT_TRUE(stand.loop.run_until([&] { return stand.dialer.waiting() > 0; }));
    stand.health_answers(200);
    stand.worker->prove(1);
    for (int i = 0; i < 10; ++i) {
        stand.dialer.fail(ConnectFailure::no_port);
        stand.pass(poll_every);
    }
    EXPECT_EQ(stand.count("WorkerExited"), 0);
    EXPECT_EQ(stand.last<ProofEnded>().verdict, ProofVerdict::not_sent);
}

}  // namespace
}  // namespace turnpike
