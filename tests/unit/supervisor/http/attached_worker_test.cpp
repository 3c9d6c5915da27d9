#include "supervisor/http/attached_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "tests/unit/supervisor/http/http_process_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration poll_every = 250ms;

/// A worker at a URL whose host is a number, so that no name server is asked.
struct Stand : HttpProcessStand {
    WorkerUrl url{.host = "127.0.0.1", .port = 9000, .prefix = "/api"};

    Stand() { worker = std::make_unique<AttachedWorker>(deps, order, pool, url, nullptr); }

    /// Waits until the host is resolved and the worker's owner connects.
    void resolve() {
        EXPECT_TRUE(loop.run_until([this] { return dialer.waiting() > 0; }));
    }
    void come_up() {
        worker->start();
        resolve();
        health_answers(200);
        EXPECT_EQ(told, (std::vector<std::string>{"WorkerStarted", "WorkerReady"}));
        told.clear();
    }
    /// Lets everything end that may still be under way.
    void rest() {
        pass(10s);
        loop.poll();
    }
};

TEST(AttachedWorker, IsUpOnceItsHealthPathAnswers) {
    Stand stand;
    stand.worker->start();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted"));
    stand.resolve();
    EXPECT_EQ(stand.dialer.dialed[0], StreamEndpoint(boost::asio::ip::tcp::endpoint(
                                          boost::asio::ip::address_v4::loopback(), 9000)));
    const auto peer = stand.accept();
    EXPECT_THAT(peer->heard, HasSubstr("GET /api/health HTTP/1.1\r\n"));
    EXPECT_THAT(peer->heard, HasSubstr("Host: 127.0.0.1:9000\r\n"));
    stand.answer(*peer, 200);
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerReady"));
}

TEST(AttachedWorker, ResolvesItsHostAgainForEachPoll) {
    Stand stand;
    stand.worker->start();
    stand.resolve();
    stand.dialer.fail(ConnectFailure::refused);
    EXPECT_EQ(stand.facts().trouble.told, "the connection is refused: nothing listens there");
    stand.url.host = "127.0.0.2";  // as if the name were another server's now
    stand.pass(poll_every);
    stand.resolve();
    EXPECT_EQ(stand.dialer.dialed.at(1), StreamEndpoint(boost::asio::ip::tcp::endpoint(
                                             boost::asio::ip::make_address("127.0.0.2"), 9000)));
    stand.health_answers(503);
    EXPECT_EQ(stand.facts().trouble.told, "GET /health answered 503");
    stand.pass(poll_every);
    stand.resolve();
    stand.health_answers(200);
    EXPECT_EQ(stand.count("WorkerReady"), 1);
    EXPECT_TRUE(stand.facts().trouble.is_none());
}

TEST(AttachedWorker, TriesAgainIfItsHostCannotBeResolved) {
    Stand stand;
    stand.url.host = "no host has spaces";
    stand.worker->start();
    EXPECT_TRUE(stand.loop.run_until([&] { return !stand.facts().trouble.is_none(); }));
    EXPECT_THAT(stand.facts().trouble.told,
                HasSubstr("the host name no host has spaces can't be resolved: "));
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
    stand.url.host = "127.0.0.1";
    stand.pass(poll_every);
    stand.resolve();
    stand.health_answers(200);
    EXPECT_EQ(stand.count("WorkerReady"), 1);
}

TEST(AttachedWorker, IsGoneAtOnceIfItIsDetachedWhileItsHostIsResolved) {
    Stand stand;
    stand.worker->start();
    stand.worker->stop(Reason::drain_asked);
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerExited", "WorkerGone"));
    stand.rest();
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
    EXPECT_EQ(stand.time.alarms_set(), 0U);
    EXPECT_THAT(stand.told, SizeIs(3));
}

TEST(AttachedWorker, GivesUpItsHealthCheckIfItIsDetachedWhileItComesUp) {
    Stand stand;
    stand.worker->start();
    stand.resolve();
    stand.worker->kill(Reason::worker_away);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    stand.rest();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerExited", "WorkerGone"));
}

TEST(AttachedWorker, DoesNotPollAgainIfItIsDetachedBetweenTwoPolls) {
    Stand stand;
    stand.worker->start();
    stand.resolve();
    stand.health_answers(500);
    stand.worker->stop(Reason::drain_asked);
    EXPECT_EQ(stand.time.alarms_set(), 0U);
    stand.rest();
    EXPECT_EQ(stand.dialer.dialed.size(), 1U);
}

TEST(AttachedWorker, ClosesEveryLinkIfItIsDetachedWhileItServes) {
    Stand stand;
    stand.come_up();
    const ExchangePtr exchange = stand.send(1);
    const auto peer = stand.accept();
    EXPECT_THAT(peer->heard, HasSubstr("POST /api/predict HTTP/1.1\r\n"));
    stand.worker->probe(1);
    stand.worker->stop(Reason::drain_asked);
    EXPECT_TRUE(peer->is_closed);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
    EXPECT_EQ(exchange->attempt.trouble, Trouble{}) << "nothing is known against the worker";
    stand.rest();
    EXPECT_THAT(stand.told, SizeIs(2));
}

TEST(AttachedWorker, IsDetachedOnlyOnce) {
    Stand stand;
    stand.come_up();
    stand.worker->stop(Reason::drain_asked);
    stand.worker->stop(Reason::shutting_down);
    stand.worker->kill(Reason::shutting_down);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
}

TEST(AttachedWorker, IgnoresWhateverComesAfterItIsDetached) {
    Stand stand;
    stand.come_up();
    stand.worker->stop(Reason::drain_asked);
    const ExchangePtr exchange = stand.send(1);
    EXPECT_EQ(exchange->attempt.trouble.cause, Cause::worker_died);
    stand.worker->cancel(AttemptId{101});
    stand.worker->probe(1);
    stand.worker->prove(1);
    stand.rest();
    EXPECT_EQ(stand.dialer.dialed.size(), 1U) << "only its health check";
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
}

TEST(AttachedWorker, IgnoresProbesAndProofsUntilItIsUp) {
    Stand stand;
    stand.worker->probe(1);
    stand.worker->prove(1);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    stand.worker->start();
    stand.resolve();
    stand.worker->probe(2);
    stand.health_answers(200);
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerReady"));
}

TEST(AttachedWorker, ReportsABrokenLinkAtOnce) {
    Stand stand;
    stand.come_up();
    stand.send(1);
    stand.hang_up(*stand.accept());
    EXPECT_THAT(stand.told, ElementsAre("AttemptEnded"));
    EXPECT_EQ(stand.last<AttemptEnded>().verdict, Verdict::broken);
}

TEST(AttachedWorker, HasExitedIfItsProofBreaks) {
    Stand stand;
    stand.come_up();
    stand.worker->prove(1);
    stand.hang_up(*stand.accept());
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited"));
    stand.worker->kill(Reason::exited);
    EXPECT_EQ(stand.count("WorkerGone"), 1) << "the engine waits for it";
}

TEST(AttachedWorker, CanBeDestroyedWhileItsHostIsResolved) {
    Stand stand;
    stand.worker->start();
    stand.worker.reset();
    stand.rest();
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
}

}  // namespace
}  // namespace turnpike
