#include "gate/clients.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gate/keys.h"

namespace turnpike {
namespace {

struct Remembered {
    std::vector<ClientId> forgotten;
    Clients clients{[this](ClientId id) { forgotten.push_back(id); }};

    ClientUse with_key(std::uint64_t number) {
        ApiKey key{.name = std::to_string(number)};
        key.hash.fill(0);
        for (std::size_t i = 0; i < sizeof number; ++i)
            key.hash[i] = static_cast<std::uint8_t>((number + 1) >> (8 * i));
        return clients.with_key(key);
    }
    ClientId id_at(std::string_view address) { return clients.at_address(address).id(); }
    std::string name_at(std::string_view address) { return clients.name_of(id_at(address)); }
};

ApiKey key_named(std::string name, std::uint8_t secret) {
    ApiKey key{.name = std::move(name)};
    key.hash.fill(secret);
    return key;
}

TEST(Clients, AreAddressesOfConnectionsWithoutAKey) {
    Remembered all;
    EXPECT_EQ(all.id_at("10.0.0.7"), all.id_at("10.0.0.7"));
    EXPECT_NE(all.id_at("10.0.0.7"), all.id_at("10.0.0.8"));
    EXPECT_NE(all.id_at("127.0.0.1"), all.id_at(""));
    EXPECT_EQ(all.name_at("10.0.0.7"), "10.0.0.7");
    EXPECT_EQ(all.name_at(""), "command line");
}

TEST(Clients, OfIpv6CountByTheirNetwork) {
    Remembered all;
    EXPECT_EQ(all.id_at("2001:db8:1:2::3"), all.id_at("2001:db8:1:2:ffff::9"));
    EXPECT_NE(all.id_at("2001:db8:1:2::3"), all.id_at("2001:db8:1:3::3"));
    EXPECT_EQ(all.name_at("2001:db8:1:2::3"), "2001:db8:1:2::/64");
    EXPECT_EQ(all.id_at("::ffff:10.0.0.7"), all.id_at("10.0.0.7"));
}

TEST(Clients, OfThisMachineAreOneWhateverLoopbackAddressTheyUse) {
    Remembered all;
    for (const std::string_view address :
         {"127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.3"}) {
        EXPECT_EQ(all.id_at(address), all.id_at("127.0.0.1")) << address;
        EXPECT_EQ(all.name_at(address), "this machine") << address;
    }
    for (const std::string_view address : {"128.0.0.1", "126.0.0.1", "::2", "::127.0.0.1"})
        EXPECT_NE(all.id_at(address), all.id_at("127.0.0.1")) << address;
}

TEST(Clients, WithAKeyAreTheSameFromEveryAddress) {
    Remembered all;
    const ClientUse first = all.clients.with_key(key_named("alice", 1));
    EXPECT_EQ(all.clients.with_key(key_named("alice", 1)).id(), first.id());
    EXPECT_NE(all.clients.with_key(key_named("bob", 2)).id(), first.id());
    EXPECT_EQ(all.clients.name_of(first.id()), "key alice");
}

TEST(Clients, WithANewKeyOfAnOldNameAreSomebodyElse) {
    Remembered all;
    EXPECT_NE(all.clients.with_key(key_named("alice", 1)).id(),
              all.clients.with_key(key_named("alice", 2)).id());
}

TEST(Clients, HaveDenseNumbers) {
    Remembered all;
    const ClientUse first = all.clients.at_address("10.0.0.1");
    const ClientUse second = first.again();
    const ClientUse third = all.clients.at_address("10.0.0.2");
    EXPECT_EQ(first.id(), ClientId{0});
    EXPECT_EQ(second.id(), ClientId{0});
    EXPECT_EQ(third.id(), ClientId{1});
    EXPECT_EQ(all.clients.size(), 2U);
}

TEST(Clients, AreRememberedForAWhileAfterTheirLastUse) {
    Remembered all;
    const ClientId first = all.id_at("10.0.0.1");
    const ClientUse stays = all.clients.at_address("10.0.0.2");
    for (std::size_t i = 0; i < Clients::unused_max - 1; ++i)
        std::ignore = all.id_at("n" + std::to_string(i));
    EXPECT_TRUE(all.forgotten.empty());
    EXPECT_EQ(all.id_at("10.0.0.1"), first);  // it is now the one that was used last

    const std::size_t numbers = all.clients.size();
    const ClientUse newcomer = all.clients.at_address("10.0.0.3");
    EXPECT_EQ(all.forgotten, std::vector{newcomer.id()});
    EXPECT_EQ(all.clients.size(), numbers);
    EXPECT_NE(newcomer.id(), first);
    EXPECT_NE(newcomer.id(), stays.id());
    EXPECT_EQ(all.clients.name_of(newcomer.id()), "10.0.0.3");
    EXPECT_EQ(all.id_at("10.0.0.1"), first);
}

TEST(Clients, WithAKeyHaveANumberHoweverManyAddressesThereAre) {
    Remembered all;
    std::vector<ClientUse> uses;
    for (std::size_t i = 0; i < 2 * clients_max; ++i)
        uses.push_back(all.clients.at_address("n" + std::to_string(i)));
    EXPECT_EQ(all.clients.name_of(uses.back().id()), "all others");
    const ClientUse alice = all.with_key(1);
    EXPECT_NE(all.clients.name_of(alice.id()), "all others");
    EXPECT_EQ(all.clients.name_of(alice.id()), "key 1");

    // One that was unused takes its place among the addresses again, and gives it back.
    uses.erase(uses.begin());
    const ClientUse again = all.clients.at_address("n0");
    EXPECT_NE(all.clients.name_of(again.id()), "all others");
    EXPECT_EQ(all.clients.name_of(all.id_at("one more")), "all others");
}

TEST(Clients, ShareTheLastNumberIfAllAreInUse) {
    Remembered all;
    std::vector<ClientUse> uses;
    for (std::size_t i = 0; i < clients_max - 1; ++i) uses.push_back(all.with_key(i));
    EXPECT_NE(all.clients.name_of(uses.back().id()), "all others");
    uses.push_back(all.clients.at_address("late"));
    uses.push_back(all.with_key(clients_max));
    EXPECT_EQ(uses.back().id(), ClientId{clients_max - 1});
    EXPECT_EQ(uses[uses.size() - 2].id(), uses.back().id());
    EXPECT_EQ(all.clients.name_of(uses.back().id()), "all others");
    EXPECT_EQ(all.clients.name_of(uses.back().id()), "all others");
    EXPECT_EQ(all.clients.size(), clients_max);

    uses.erase(uses.begin());
    const ClientUse newcomer = all.clients.at_address("newcomer");
    EXPECT_EQ(newcomer.id(), ClientId{0}) << "a number that nobody uses comes first";
    EXPECT_EQ(all.forgotten, std::vector{ClientId{0}});
}

}  // namespace
}  // namespace turnpike
