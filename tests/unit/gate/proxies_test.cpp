#include "gate/proxies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace turnpike {
namespace {

using http::Field;
using Fields = std::vector<Field>;

ProxyTrust trust_in(const std::vector<std::string>& networks) {
    ProxyTrust trust;
    for (const std::string& network : networks) trust.networks.push_back(*parse_network(network));
    return trust;
}

const ProxyTrust trust = trust_in({"10.0.0.0/8", "127.0.0.1", "fd00::/8", "fe80::/10"});
constexpr std::string_view proxy = "10.0.0.2";

/// Returns the client of a request that comes from `peer`: an address, or "peer".
std::string client(const Fields& fields, std::string_view peer = proxy) {
    return TrustedProxies(trust).client_of(fields, Entrance::tcp, peer).value_or("peer");
}

std::string by_list(std::string_view value) { return client({{"X-Forwarded-For", value}}); }

TEST(TrustedProxies, SayWhoTheClientIs) {
    EXPECT_EQ(by_list("203.0.113.7"), "203.0.113.7");
    EXPECT_EQ(by_list("203.0.113.7:5000"), "203.0.113.7");
    EXPECT_EQ(by_list("2001:db8::7"), "2001:db8::7");
    EXPECT_EQ(by_list("[2001:DB8:0::7]:80"), "2001:db8::7");
    EXPECT_EQ(client({{"Forwarded", R"(for="[2001:db8::7]:80";proto=https)"}}), "2001:db8::7");
    EXPECT_EQ(client({{"forwarded", "for=203.0.113.7"}}), "203.0.113.7");
}

TEST(TrustedProxies, AreOnlyThoseThatAreListed) {
    const Fields forged{{"X-Forwarded-For", "203.0.113.7"}, {"Forwarded", "for=203.0.113.7"}};
    for (const std::string_view peer :
         {"11.0.0.1", "127.0.0.2", "::1", "203.0.113.7", "2001:db8::1", "", "nonsense"})
        EXPECT_EQ(client(forged, peer), "peer") << peer;
    EXPECT_EQ(TrustedProxies(ProxyTrust{}).client_of(forged, Entrance::tcp, "127.0.0.1"),
              std::nullopt)
        << "nobody is trusted by default";
}

TEST(TrustedProxies, AreKnownByAnyFormOfTheirAddress) {
    const Fields fields{{"X-Forwarded-For", "203.0.113.7"}};
    for (const std::string_view peer :
         {"10.0.0.2", "::ffff:10.0.0.2", "127.0.0.1", "::ffff:7f00:1", "fd00::5", "fe80::1%eth0"})
        EXPECT_EQ(client(fields, peer), "203.0.113.7") << peer;
}

TEST(TrustedProxies, OnTheUnixSocketAreListedAsUnix) {
    const Fields fields{{"X-Forwarded-For", "203.0.113.7"}};
    EXPECT_EQ(TrustedProxies(trust).client_of(fields, Entrance::unix_socket, ""), std::nullopt);
    const ProxyTrust only_unix{.networks = {}, .unix_socket = true};
    EXPECT_EQ(TrustedProxies(only_unix).client_of(fields, Entrance::unix_socket, ""),
              "203.0.113.7");
    EXPECT_EQ(TrustedProxies(only_unix).client_of(fields, Entrance::tcp, "127.0.0.1"),
              std::nullopt);
}

TEST(TrustedProxies, AreLeftOutFromTheEndOfTheList) {
    EXPECT_EQ(by_list("9.9.9.9, 203.0.113.7, 10.0.0.3, 10.0.0.4"), "203.0.113.7");
    EXPECT_EQ(by_list("9.9.9.9, 203.0.113.7, ::ffff:10.0.0.3"), "203.0.113.7");
    EXPECT_EQ(by_list("10.0.0.9, 10.0.0.3"), "10.0.0.9") << "if all are, the farthest is meant";
}

TEST(TrustedProxies, AreTheClientIfTheyHideIt) {
    for (const std::string_view hidden :
         {"unknown", "_hidden", "", ",", "garbage", "1.2.3", "999.1.1.1", "203.0.113.7:",
          "203.0.113.7:port", "[2001:db8::7", "fe80::1%eth0", "localhost", "127.1", "0x7f000001"}) {
        EXPECT_EQ(by_list(hidden), "peer") << hidden;
        EXPECT_EQ(by_list("203.0.113.7, " + std::string(hidden) + ", 10.0.0.3"),
                  hidden.empty() || hidden == "," ? "203.0.113.7" : "10.0.0.3")
            << "it is the one before that hides: " << hidden;
    }
    for (const std::string_view hidden : {"for=unknown", "for=_hidden", "proto=https", "for=\"",
                                          R"(for="_hidden:_port")", "for=203.0.113.7;for=9.9.9.9"})
        EXPECT_EQ(client({{"Forwarded", hidden}}), "peer") << hidden;
}

TEST(TrustedProxies, AreNotBelievedIfTheirTwoListsDiffer) {
    const auto both = [](std::string_view one, std::string_view other) {
        return client({{"Forwarded", one}, {"X-Forwarded-For", other}});
    };
    EXPECT_EQ(both("for=203.0.113.7", "203.0.113.7"), "203.0.113.7");
    EXPECT_EQ(both("for=9.9.9.9, for=203.0.113.7", "203.0.113.7"), "203.0.113.7");
    EXPECT_EQ(both("for=9.9.9.9", "203.0.113.7"), "peer");
    EXPECT_EQ(both("for=unknown", "203.0.113.7"), "peer");
    EXPECT_EQ(both("for=203.0.113.7", "unknown"), "peer");
    EXPECT_EQ(both("", "203.0.113.7"), "peer");
}

TEST(TrustedProxies, MayWriteSeveralFields) {
    EXPECT_EQ(client({{"X-Forwarded-For", "9.9.9.9"},
                      {"Accept", "*/*"},
                      {"x-forwarded-for", "203.0.113.7"},
                      {"X-FORWARDED-FOR", "10.0.0.3"}}),
              "203.0.113.7");
    EXPECT_EQ(client({{"X-Forwarded-For", "9.9.9.9"}, {"X-Real-IP", "8.8.8.8"}, {"Via", "x"}}),
              "9.9.9.9")
        << "the other fields name nobody";
}

TEST(TrustedProxies, AreFollowedForSoManyHopsOnly) {
    const auto chain = [](std::size_t hops) {
        std::string list = "203.0.113.7";
        for (std::size_t i = 0; i < hops; ++i) list += ", 10.0.1." + std::to_string(i % 250);
        return by_list(list);
    };
    EXPECT_EQ(chain(TrustedProxies::hops_max - 1), "203.0.113.7");
    EXPECT_EQ(chain(TrustedProxies::hops_max), "10.0.1.0");
    EXPECT_EQ(chain(1000).substr(0, 7), "10.0.1.");
}

TEST(TrustedProxies, HearNothingOfWhatTheClientWroteItself) {
    std::string long_list;
    while (long_list.size() < 8192) long_list += "10.0.0.1, ";
    EXPECT_EQ(by_list(long_list + "203.0.113.7"), "203.0.113.7");
    for (const char filler : {',', 'x', ' '}) {
        std::string list(8192, filler);
        list += ",203.0.113.7";
        EXPECT_EQ(by_list(list), "203.0.113.7") << filler;
    }
    for (const std::string_view before : {"for=\"", "for=\"\\", "\\\"", "for=10.0.0.1;"}) {
        const std::string value = std::string(before) + ", for=203.0.113.7";
        EXPECT_EQ(client({{"Forwarded", value}}), "203.0.113.7") << value;
    }
}

/// Whatever comes before the hop that a trusted proxy added changes nothing.
TEST(TrustedProxies, GiveTheSameClientWhateverComesBefore) {
    constexpr std::string_view alphabet = R"(for=,;"\[]:. 10.203.7fF_unknown%/)";
    Random random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::string noise;
        const std::uint64_t size = random.below(60);
        for (std::uint64_t i = 0; i < size; ++i) noise += alphabet[random.below(alphabet.size())];
        const std::string list = noise + ", 203.0.113.7";
        ASSERT_EQ(by_list(list), "203.0.113.7") << list;
        const std::string forwarded = noise + R"(, for="[2001:db8::7]:80";by=_x)";
        ASSERT_EQ(client({{"Forwarded", forwarded}}), "2001:db8::7") << forwarded;
        const std::string alone = client({{"Forwarded", noise}});
        ASSERT_TRUE(alone == "peer" || parse_ip(alone)) << noise;
    }
}

}  // namespace
}  // namespace turnpike
