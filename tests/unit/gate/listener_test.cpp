#include "gate/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include "os/command_line.h"
#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

using testing::HasSubstr;
using tcp = boost::asio::ip::tcp;
using Local = boost::asio::local::stream_protocol;

constexpr std::string_view request = "GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A client that connects as clients do.
template <class Protocol>
struct Caller : std::enable_shared_from_this<Caller<Protocol>> {
    explicit Caller(boost::asio::io_context& loop) : socket(loop) {}

    /// Returns false if nobody listens there. The kernel connects before the gate accepts.
    bool connect(const typename Protocol::endpoint& endpoint, std::string_view text = request) {
        boost::system::error_code error;
        socket.connect(endpoint, error);
        if (error) return false;
        boost::asio::write(socket, boost::asio::buffer(text), error);
        EXPECT_FALSE(error);
        listen();
        return true;
    }
    void listen() {
        socket.async_read_some(
            boost::asio::buffer(buffer),
            [self = this->shared_from_this()](boost::system::error_code error, std::size_t size) {
                self->got.append(self->buffer.data(), size);
                if (!error) self->listen();
            });
    }
    [[nodiscard]] bool is_served() const { return got.starts_with("HTTP/1.1 200 "); }

    typename Protocol::socket socket;
    std::array<char, 4096> buffer{};
    std::string got;
};

struct Stand : GateFixture {
    using GateFixture::GateFixture;

    /// Listens on any free port of this machine.
    tcp::endpoint bind() {
        const auto bound = listener.bind({.host = "127.0.0.1", .port = 0});
        EXPECT_TRUE(bound) << bound.error();
        EXPECT_EQ(bound->host, "127.0.0.1");
        EXPECT_NE(bound->port, 0);
        return {boost::asio::ip::address_v4::loopback(), bound->port};
    }
    template <class Protocol = tcp>
    std::shared_ptr<Caller<Protocol>> call(const typename Protocol::endpoint& endpoint) {
        const auto caller = std::make_shared<Caller<Protocol>>(loop.context());
        EXPECT_TRUE(caller->connect(endpoint));
        return caller;
    }
    template <class Condition>
    void wait(Condition holds) {
        EXPECT_TRUE(loop.run_until(holds));
    }

    Listener listener{loop.context()};
};

TEST(Listener, ServesClientsOnThePortThatItFound) {
    Stand stand;
    const tcp::endpoint endpoint = stand.bind();
    stand.listener.start(stand.gate);
    const auto first = stand.call(endpoint);
    const auto second = stand.call(endpoint);
    stand.wait([&] { return first->is_served() && second->is_served(); });
    first->socket.close();
    second->socket.close();
}

TEST(Listener, SaysThatItsPortIsTaken) {
    Stand stand;
    const tcp::endpoint endpoint = stand.bind();
    Listener other(stand.loop.context());
    const auto bound = other.bind({.host = "127.0.0.1", .port = endpoint.port()});
    ASSERT_FALSE(bound);
    EXPECT_THAT(bound.error(), HasSubstr("127.0.0.1:" + std::to_string(endpoint.port()) +
                                         " is taken by another program"));
}

TEST(Listener, SaysThatItsHostIsNoAddressOfThisMachine) {
    Stand stand;
    for (const std::string host : {"192.0.2.1", "no host has spaces"}) {
        const auto bound = stand.listener.bind({.host = host, .port = 0});
        ASSERT_FALSE(bound);
        EXPECT_THAT(bound.error(), HasSubstr("can't listen on " + host));
    }
}

TEST(Listener, ServesTheCommandLineOnASocketThatOnlyItsUserMayUse) {
    Stand stand;
    stand.folder.write("socket", "left by a gate that was killed");
    const std::string path = stand.folder.file("socket");
    ASSERT_TRUE(stand.listener.bind_unix(path));
    struct stat found{};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777, 0600U);
    stand.listener.start(stand.gate);
    const auto caller = stand.call<Local>(Local::endpoint(path));
    stand.wait([&] { return caller->is_served(); });
    caller->socket.close();
}

TEST(Listener, TellsTheCommandLineFromAnyOtherProgramOnItsSocket) {
    for (const bool is_command_line : {false, true}) {
        Stand stand;
        const Local::endpoint endpoint(stand.folder.file("socket"));
        ASSERT_TRUE(stand.listener.bind_unix(endpoint.path()));
        stand.listener.start(stand.gate);
        const auto caller = std::make_shared<Caller<Local>>(stand.loop.context());
        caller->socket.open();
        EXPECT_TRUE(!is_command_line || name_as_command_line(caller->socket.native_handle()));
        ASSERT_TRUE(caller->connect(endpoint, "GET /-/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        stand.wait([&] { return !caller->got.empty(); });
        EXPECT_EQ(caller->is_served(), is_command_line) << caller->got;
        caller->socket.close();
    }
}

TEST(Listener, SaysWhyItsSocketCannotBeMade) {
    Stand stand;
    const std::string path = stand.folder.file("nowhere/socket");
    const auto bound = stand.listener.bind_unix(path);
    ASSERT_FALSE(bound);
    EXPECT_THAT(bound.error(), HasSubstr("can't listen on " + path));
}

TEST(Listener, LetsOnlyTheCommandLineInOnceItStops) {
    Stand stand;
    const tcp::endpoint endpoint = stand.bind();
    const Local::endpoint command_line(stand.folder.file("socket"));
    ASSERT_TRUE(stand.listener.bind_unix(command_line.path()));
    stand.listener.start(stand.gate);
    const auto before = stand.call(endpoint);
    stand.wait([&] { return before->is_served(); });
    stand.listener.stop_tcp();
    EXPECT_FALSE(std::make_shared<Caller<tcp>>(stand.loop.context())->connect(endpoint));
    const auto caller = stand.call<Local>(command_line);
    stand.wait([&] { return caller->is_served(); });
    before->socket.close();
    caller->socket.close();
}

TEST(Listener, PushesOutAnIdleConnectionForANewOne) {
    Config config{.pools = {PoolConfig{.name = "only"}}};
    config.gate.connections_max = 1;
    Stand stand(config);
    const tcp::endpoint endpoint = stand.bind();
    stand.listener.start(stand.gate);
    const auto first = stand.call(endpoint);
    stand.wait([&] { return first->is_served(); });
    const auto second = stand.call(endpoint);
    stand.wait([&] { return second->is_served(); });
    EXPECT_EQ(stand.gate.connections(), 1U);
    first->socket.close();
    second->socket.close();
}

}  // namespace
}  // namespace turnpike
