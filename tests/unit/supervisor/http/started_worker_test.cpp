#include "supervisor/http/started_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "os/runtime_folder.h"
#include "tests/unit/supervisor/http/started_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Holder = PortStatus::Holder;
using Stand = StartedStand;

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
    stand.port_status = {.holder = Holder::tree,
                         .protocol = PortStatus::Protocol::ipv6,
                         .listeners = {*stand.listener}};
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
    const ListenerProcess maker{.pid = 4711, .user = 1000};
    const ListenerId id{.number = 4711, .owner = 1000};
    stand.port_status = {.holder = Holder::tree, .listeners = {id}};
    stand.pass(look_every);
    EXPECT_TRUE(stand.accept(maker)->is_closed) << "nobody knew the listener yet";
    stand.settle();
    EXPECT_THAT(stand.socket_looks, ElementsAre(id));
    const auto peer = stand.accept(maker);
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
    const auto own = stand.port_status;
    const auto own_listener = stand.listener;
    stand.lose_port();
    const auto stranger = stand.accept();
    stand.settle();
    EXPECT_TRUE(stranger->is_closed);
    EXPECT_EQ(stranger->heard, "");
    EXPECT_THAT(stand.facts().trouble.told, HasSubstr("nginx (pid 812) listens on its port"));
    stand.port_status = own;
    stand.listener = own_listener;
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

}  // namespace
}  // namespace turnpike
