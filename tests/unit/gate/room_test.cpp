// Who gets a connection when they run short, on the Unix socket too.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr std::uint32_t most = 20;

constexpr std::string_view proxy = "10.9.9.9";

Config small_gate(std::uint32_t connections_max) {
    Config config{.pools = {PoolConfig{.name = "only"}}};
    config.gate.connections_max = connections_max;
    config.gate.trusted_proxies.networks = {*parse_network(proxy)};
    return config;
}

struct Crowded : GateFixture {
    explicit Crowded(std::uint32_t connections_max = most)
        : GateFixture(small_gate(connections_max)) {}

    Client& come(Entrance entrance, std::string address) {
        Client& client = connect(entrance, std::move(address));
        client.listen();
        return client;
    }
    Client& command_line() { return come(Entrance::command_line, {}); }
    /// Lets somebody connect, and waits until his job is admitted: its connection can't be pushed out.
    Client& busy(const std::string& address) {
        Client& client = come(Entrance::tcp, address);
        client.say("GET /job HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const std::uint64_t jobs = next_job;
        EXPECT_TRUE(loop.run_until([&] { return next_job > jobs || client.is_over; }));
        return client;
    }
    [[nodiscard]] bool is_served(Client& client) {
        client.say("GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        EXPECT_TRUE(loop.run_until([&] { return client.is_over || client.got.contains("200"); }));
        return !client.is_over;
    }
};

TEST(GateRoom, BoundsProxiesOnTheUnixSocketLikeOtherClients) {
    Crowded gate;
    for (std::uint32_t i = 0; i < 5 * most; ++i) gate.come(Entrance::unix_socket, "unix socket");
    gate.loop.poll();
    EXPECT_LE(gate.gate.connections(), most);
    EXPECT_TRUE(gate.is_served(gate.come(Entrance::tcp, "10.0.0.1")));
    EXPECT_TRUE(gate.is_served(gate.command_line()));
}

TEST(GateRoom, KeepsAShareForWhoIsNotHereYet) {
    Crowded gate;
    for (std::uint32_t i = 0; i < most; ++i) {
        gate.busy("10.0.0.1");
        gate.busy("10.0.0.2");
    }
    EXPECT_EQ(gate.gate.connections(), most - most / 10);
    EXPECT_TRUE(gate.is_served(gate.come(Entrance::tcp, "10.0.0.3")));
}

TEST(GateRoom, IsNotFilledByAFewGreedyClientsOneAfterTheOther) {
    constexpr std::uint32_t whole = 100;
    for (const std::uint32_t greedy : {1U, 2U, 3U, 5U}) {
        Crowded gate(whole);
        for (std::uint32_t who = 0; who < greedy; ++who)
            for (std::uint32_t i = 0; i <= whole; ++i) gate.busy("10.0.1." + std::to_string(who));
        EXPECT_GE(gate.gate.connections(), whole - whole / 10) << "what is free is not held back";
        EXPECT_LT(gate.gate.connections(), whole) << greedy;
        EXPECT_TRUE(gate.is_served(gate.come(Entrance::tcp, "10.0.0.1"))) << greedy;
    }
}

TEST(GateRoom, GivesTheVeryLastToAClientThatHasNone) {
    Crowded gate;
    for (std::uint32_t i = 0; i < most; ++i) gate.busy("10.0.1.1");
    for (std::uint32_t i = 0; i < most; ++i) gate.busy("10.0.1.2");
    EXPECT_EQ(gate.gate.connections(), most - 1);
    EXPECT_FALSE(gate.busy("10.0.0.1").is_over);
    EXPECT_TRUE(gate.busy("10.0.0.1").is_over) << "it has one, and all others are busy";
    EXPECT_EQ(gate.gate.connections(), most);
}

TEST(GateRoom, HasNoShareForATrustedProxy) {
    Crowded gate;
    gate.busy("10.0.0.1");
    for (std::uint32_t i = 1; i < most; ++i) EXPECT_FALSE(gate.busy(std::string(proxy)).is_over);
    EXPECT_EQ(gate.gate.connections(), most);
}

TEST(GateRoom, FindsAConnectionToPushOutBehindManyClientsThatAreBusy) {
    Crowded gate;
    Client& idle = gate.come(Entrance::tcp, "10.0.1.1");
    for (std::uint32_t i = 1; i < most; ++i) gate.busy("10.0.0." + std::to_string(i));
    EXPECT_TRUE(gate.gate.has_room());
    EXPECT_TRUE(gate.is_served(gate.come(Entrance::tcp, "10.0.1.2")));
    EXPECT_TRUE(gate.loop.run_until([&] { return idle.is_over; }));
}

TEST(GateRoom, KeepsPlacesForTheCommandLine) {
    Crowded gate;
    for (std::uint32_t i = 0; i < most; ++i) gate.busy("10.0.0." + std::to_string(i));
    EXPECT_EQ(gate.gate.connections(), most);
    std::vector<Client*> commands;
    for (std::size_t i = 0; i < Gate::command_lines_max; ++i)
        commands.push_back(&gate.command_line());
    for (Client* command : commands) EXPECT_TRUE(gate.is_served(*command));
    EXPECT_EQ(gate.gate.connections(), most + Gate::command_lines_max);
}

TEST(GateRoom, PushesNoCommandLineOutForAClient) {
    Crowded gate;
    for (std::uint32_t i = 0; i < most; ++i) gate.busy("10.0.0." + std::to_string(i));
    Client& command = gate.command_line();
    EXPECT_FALSE(gate.gate.has_room());
    Client& newcomer = gate.come(Entrance::tcp, "10.0.1.1");
    EXPECT_TRUE(gate.loop.run_until([&] { return newcomer.is_over; }));
    EXPECT_EQ(gate.gate.connections(), most + 1);
    EXPECT_TRUE(gate.is_served(command));
}

TEST(GateRoom, BoundsTheCommandLineAndTakesTheNextOne) {
    Crowded gate;
    Client& client = gate.come(Entrance::tcp, "10.0.0.1");
    for (std::size_t i = 0; i < 3 * Gate::command_lines_max; ++i) gate.command_line();
    gate.loop.poll();
    EXPECT_LE(gate.gate.connections(), 1 + Gate::command_lines_max);
    EXPECT_TRUE(gate.is_served(gate.command_line()));
    EXPECT_TRUE(gate.is_served(client)) << "the command line takes its own places only";
}

}  // namespace
}  // namespace turnpike
