#include "supervisor/http/started_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "os/runtime_folder.h"
#include "tests/unit/supervisor/http/http_process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Holder = PortStatus::Holder;

constexpr Duration look_every = 50ms;
constexpr Duration poll_every = 250ms;

struct Stand : HttpProcessStand {
    explicit Stand(const std::string& command = "serve --port {port}") {
        pool.worker.command = command;
        worker = std::make_unique<StartedWorker>(deps, process_deps, order, lane());
    }
    void run() {
        worker->start();
        guard().runs();
        settle();
    }
    /// The worker's own process listens, and the next look finds it.
    void listen() {
        port_status = {.holder = Holder::tree};
        pass(look_every);
    }
    void come_up() {
        run();
        listen();
        health_answers(200);
        EXPECT_EQ(told, (std::vector<std::string>{"WorkerStarted", "WorkerReady"}));
        told.clear();
        looks.clear();
    }
    void die(int code) {
        guard().exits(exit_code(code));
        guard().is_gone();
    }
    [[nodiscard]] std::uint16_t port() const {
        return process_deps.ports.empty() ? std::uint16_t{0} : *process_deps.ports.begin();
    }
};

// ── until it listens ─────────────────────────────────────────────────────────────────────────────

TEST(StartedWorker, ComesUpOnceItsTreeListensAndItsHealthPathAnswers) {
    Stand stand;
    stand.run();
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted"));
    EXPECT_EQ(stand.dialer.waiting(), 0U) << "it does not listen yet";
    EXPECT_EQ(stand.guard().orders.command, "serve --port " + std::to_string(stand.port()));
    stand.pass(1s);
    stand.listen();
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_EQ(stand.dialer.dialed[0], StreamEndpoint(boost::asio::ip::tcp::endpoint(
                                          boost::asio::ip::address_v4::loopback(), stand.port())));
    EXPECT_EQ(stand.facts().start.listen, Duration{1050ms});
    stand.pass(500ms);
    const auto peer = stand.accept();
    EXPECT_THAT(peer->heard, HasSubstr("GET /health HTTP/1.1\r\n"));
    EXPECT_THAT(peer->heard, HasSubstr("Host: 127.0.0.1:" + std::to_string(stand.port()) + "\r\n"));
    stand.answer(*peer, 200);
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted", "WorkerReady"));
    EXPECT_EQ(stand.facts().start.load, Duration{500ms});
}

TEST(StartedWorker, LooksAtItsPortOftenAtFirstAndThenSeldom) {
    Stand stand;
    stand.run();
    stand.looks.clear();
    stand.pass(1s);
    EXPECT_THAT(stand.looks, SizeIs(20));
    stand.pass(10s);
    stand.looks.clear();
    stand.pass(1s);
    EXPECT_THAT(stand.looks, SizeIs(4));
}

TEST(StartedWorker, FindsOutNowAndThenWhetherItListensOnAnotherPort) {
    Stand stand;
    stand.port_status = {.holder = Holder::nobody, .other_ports = {5000}};
    stand.run();
    stand.pass(100ms);
    EXPECT_TRUE(stand.facts().trouble.is_none()) << "it is only starting";
    stand.pass(50ms);
    EXPECT_THAT(stand.looks,
                ElementsAre(PortLook::quick, PortLook::quick, PortLook::quick, PortLook::thorough));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("its worker listens on port 5000"));
    stand.port_status = {};
    stand.pass(50ms);
    EXPECT_FALSE(stand.facts().trouble.is_none()) << "a quick look does not know";
    stand.pass(450ms);
    EXPECT_TRUE(stand.facts().trouble.is_none());
}

TEST(StartedWorker, NeverConnectsToAStrangerOnItsPort) {
    Stand stand;
    stand.port_status = {.holder = Holder::stranger, .stranger = "nginx (pid 812)"};
    stand.run();
    stand.pass(2s);
    EXPECT_THAT(stand.dialer.dialed, IsEmpty());
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("nginx (pid 812) listens on its port"));
    stand.listen();
    EXPECT_TRUE(stand.facts().trouble.is_none());
    EXPECT_EQ(stand.dialer.waiting(), 1U);
}

TEST(StartedWorker, UsesTheProtocolOnWhichItListens) {
    Stand stand;
    stand.run();
    stand.port_status = {.holder = Holder::tree, .protocol = PortStatus::Protocol::ipv6};
    stand.pass(look_every);
    const auto peer = stand.accept();
    ASSERT_THAT(stand.dialer.dialed, SizeIs(1));
    EXPECT_EQ(stand.dialer.dialed[0], StreamEndpoint(boost::asio::ip::tcp::endpoint(
                                          boost::asio::ip::address_v6::loopback(), stand.port())));
    EXPECT_THAT(peer->heard, HasSubstr("Host: [::1]:"));
}

TEST(StartedWorker, RemarksThatItListensOnEveryAddressUntilANewWorkerDoesNot) {
    Stand stand;
    stand.run();
    stand.port_status = {.holder = Holder::tree, .is_exposed = true};
    stand.pass(look_every);
    EXPECT_THAT(stand.lanes[0].remark, HasSubstr("listens on every address"));

    Stand next;
    next.lanes[0].remark = stand.lanes[0].remark;
    next.run();
    next.listen();
    EXPECT_EQ(next.lanes[0].remark, "");
}

TEST(StartedWorker, WaitsForItsSocketAndRemovesItAtItsEnd) {
    Stand stand("serve --uds {socket}");
    const std::string path = stand.process_deps.folder + "/w1";
    stand.folder.write("w1", "left by a worker that was killed");
    stand.run();
    EXPECT_EQ(stand.guard().orders.command, "serve --uds " + path);
    EXPECT_FALSE(stand.folder.has("w1"));
    stand.pass(1s);
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_THAT(stand.looks, IsEmpty()) << "it has no port";
    stand.folder.write("w1", "");  // as if it listened there
    stand.pass(look_every);
    const auto peer = stand.accept();
    EXPECT_THAT(peer->heard, HasSubstr("Host: localhost\r\n"));
    stand.answer(*peer, 200);
    EXPECT_EQ(stand.count("WorkerReady"), 1);
    stand.guard().exits(exit_code(0));
    stand.guard().is_gone();
    EXPECT_FALSE(stand.folder.has("w1"));
}

TEST(StartedWorker, IsNotStartedIfThePathOfItsSocketIsTooLong) {
    Stand stand("serve --uds {socket}");
    stand.process_deps.folder = "/" + std::string(socket_path_max, 'x');
    stand.worker->start();
    EXPECT_THAT(stand.guards.made, IsEmpty());
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited", "WorkerGone"));
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("the path of its socket is too long"));
}

TEST(StartedWorker, GivesItsPortBackOnlyOnceItIsGone) {
    Stand stand;
    stand.run();
    const std::uint16_t port = stand.port();
    EXPECT_GT(port, 0);
    StartedWorker other(stand.deps, stand.process_deps, stand.order, stand.lane());
    other.start();
    EXPECT_THAT(stand.process_deps.ports, SizeIs(2)) << "each has its own";
    stand.guards.made[0]->exits(exit_code(1));
    EXPECT_THAT(stand.process_deps.ports, Contains(port)) << "a process of its tree may listen";
    stand.guards.made[0]->is_gone();
    EXPECT_THAT(stand.process_deps.ports, Not(Contains(port)));
    EXPECT_THAT(stand.process_deps.ports, SizeIs(1));
}

// ── until it is healthy ──────────────────────────────────────────────────────────────────────────

TEST(StartedWorker, PollsItsHealthPathUntilItAnswersWell) {
    Stand stand;
    stand.run();
    stand.listen();
    stand.dialer.fail(ConnectFailure::refused);
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("the connection is refused"));
    stand.pass(poll_every);
    stand.health_answers(500);
    EXPECT_EQ(stand.facts().trouble.told, "GET /health answered 500");
    stand.pass(poll_every);
    stand.say(*stand.accept(), "SSH-2.0-OpenSSH_9.2\r\n");
    EXPECT_EQ(stand.facts().trouble.told, "GET /health got no valid HTTP answer");
    stand.pass(poll_every);
    const auto silent = stand.accept();
    stand.pass(stand.pool.settings.probe_timeout);
    EXPECT_EQ(stand.facts().trouble.told, "GET /health got no answer in time");
    EXPECT_TRUE(silent->is_closed);
    EXPECT_EQ(stand.count("WorkerReady"), 0);
    stand.pass(poll_every);
    stand.health_answers(404);
    EXPECT_EQ(stand.count("WorkerReady"), 1) << "a server without a health path is alive, too";
    EXPECT_TRUE(stand.facts().trouble.is_none());
    stand.pass(5s);
    EXPECT_EQ(stand.dialer.waiting(), 0U) << "it is not polled any more";
}

TEST(StartedWorker, IsNotReadyIfAnotherProgramHasTakenItsPortMeanwhile) {
    Stand stand;
    stand.run();
    stand.listen();
    stand.port_status = {.holder = Holder::stranger, .stranger = "nginx (pid 812)"};
    stand.health_answers(200);
    EXPECT_EQ(stand.count("WorkerReady"), 0);
    stand.port_status = {.holder = Holder::tree};
    stand.pass(poll_every);
    stand.health_answers(200);
    EXPECT_EQ(stand.count("WorkerReady"), 1);
}

TEST(StartedWorker, DoesNotTakeItsOwnLogOfHealthChecksForProgress) {
    Stand stand;
    stand.run();
    stand.guard().prints("GET /health is where I listen\n");
    stand.loop.poll();
    stand.worker->process_printed();
    EXPECT_EQ(stand.count("LoadProgressed"), 1) << "nobody has asked for its health yet";
    stand.listen();
    stand.pass(1s);
    stand.guard().prints("\"GET /health HTTP/1.1\" 503\n");
    stand.loop.poll();
    stand.worker->process_printed();
    EXPECT_EQ(stand.count("LoadProgressed"), 1);
    stand.guard().prints("loading shard 2\n");
    stand.loop.poll();
    stand.worker->process_printed();
    EXPECT_EQ(stand.count("LoadProgressed"), 2);
    EXPECT_EQ(stand.facts().last_line, "loading shard 2");
}

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

TEST(StartedWorker, IsNeverReadyIfItExitsWhileItsIdentityIsChecked) {
    Stand stand;
    stand.run();
    stand.listen();
    const auto peer = stand.accept();
    peer->says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    peer->run();  // looks at its port now
    stand.guard().exits(exit_code(1));
    stand.settle();
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

TEST(StartedWorker, ChecksItsIdentityBeforeAProbeOnlyIfALinkBroke) {
    Stand stand;
    stand.come_up();
    stand.worker->probe(1);
    EXPECT_THAT(stand.looks, IsEmpty());
    stand.health_answers(200);
    EXPECT_EQ(stand.last<ProbeEnded>().probe, 1U);

    stand.send(1);
    stand.hang_up(*stand.accept());
    stand.pass(1s);
    stand.worker->probe(2);
    stand.settle();
    EXPECT_THAT(stand.looks, SizeIs(1));
    stand.health_answers(200);
    EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::answered);
    stand.worker->probe(3);
    stand.settle();
    EXPECT_THAT(stand.looks, SizeIs(1)) << "the doubt is over";
    stand.health_answers(500);
    EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::silent);
}

TEST(StartedWorker, DoesNotProbeAProgramThatHasTakenItsPort) {
    Stand stand;
    stand.come_up();
    stand.send(1);
    stand.hang_up(*stand.accept());
    stand.pass(1s);
    stand.port_status = {.holder = Holder::stranger, .stranger = "nginx (pid 812)"};
    stand.worker->probe(2);
    stand.settle();
    EXPECT_EQ(stand.dialer.waiting(), 0U);
    EXPECT_EQ(stand.last<ProbeEnded>().verdict, ProbeVerdict::refused);
    stand.worker->probe(3);
    stand.settle();
    EXPECT_EQ(stand.dialer.waiting(), 0U) << "the doubt stays";
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
