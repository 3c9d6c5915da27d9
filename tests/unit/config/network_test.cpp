#include "config/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

using testing::HasSubstr;

std::string shown(std::string_view text) {
    const auto address = parse_ip(text);
    return address ? text_of(*address) : "none";
}

bool is_in(std::string_view network, std::string_view address) {
    const auto parsed = parse_network(network);
    EXPECT_TRUE(parsed) << network << ": " << parsed.error();
    return parsed && contains(*parsed, *parse_ip(address));
}

TEST(IpAddress, HasOneTextForEachAddress) {
    EXPECT_EQ(shown("10.0.0.1"), "10.0.0.1");
    EXPECT_EQ(shown("2001:DB8:0:0::1"), "2001:db8::1");
    EXPECT_EQ(shown("::ffff:10.0.0.1"), "10.0.0.1");
    EXPECT_EQ(shown("::FFFF:a00:1"), "10.0.0.1");
    EXPECT_EQ(shown("::1"), "::1");
    EXPECT_EQ(shown("0.0.0.0"), "0.0.0.0");
    EXPECT_EQ(parse_ip("::ffff:127.0.0.1"), parse_ip("127.0.0.1"));
}

TEST(IpAddress, IsRefusedIfItCouldMeanSeveralThings) {
    for (const std::string& text : {std::string(),
                                    std::string("1"),
                                    std::string("1.2.3"),
                                    std::string("1.2.3.4.5"),
                                    std::string("1.2.3.256"),
                                    std::string("01.2.3.4"),
                                    std::string("0x7f.0.0.1"),
                                    std::string("1.2.3.4 "),
                                    std::string("1.2.3.4:80"),
                                    std::string("[::1]"),
                                    std::string("fe80::1%eth0"),
                                    std::string("fe80::1%1"),
                                    std::string(":::"),
                                    std::string("1:2"),
                                    std::string("::g"),
                                    std::string("localhost"),
                                    std::string("unknown"),
                                    std::string("_hidden"),
                                    std::string("1.2.3.4\0", 8),
                                    std::string("::1\0x", 5),
                                    std::string(10'000, '1'),
                                    std::string(10'000, ':')})
        EXPECT_EQ(shown(text), "none") << text;
}

TEST(Network, HasTheAddressesOfItsPrefix) {
    EXPECT_TRUE(is_in("10.0.0.0/8", "10.255.255.255"));
    EXPECT_FALSE(is_in("10.0.0.0/8", "11.0.0.0"));
    EXPECT_TRUE(is_in("192.168.1.128/25", "192.168.1.255"));
    EXPECT_FALSE(is_in("192.168.1.128/25", "192.168.1.127"));
    EXPECT_TRUE(is_in("127.0.0.1", "127.0.0.1"));
    EXPECT_FALSE(is_in("127.0.0.1", "127.0.0.2"));
    EXPECT_TRUE(is_in("fd00::/8", "fdff::1"));
    EXPECT_FALSE(is_in("fd00::/8", "fe00::1"));
    EXPECT_TRUE(is_in("128.0.0.0/1", "255.255.255.255"));
    EXPECT_TRUE(is_in("::/1", "10.0.0.1")) << "IPv4 is a part of IPv6";
}

TEST(Network, KnowsMappedAddresses) {
    EXPECT_TRUE(is_in("10.0.0.0/8", "::ffff:10.1.2.3"));
    EXPECT_TRUE(is_in("::ffff:10.0.0.0/104", "10.1.2.3"));
    EXPECT_EQ(parse_network("::ffff:10.0.0.0/104"), parse_network("10.0.0.0/8"));
}

TEST(Network, IsRefusedWithAReason) {
    for (const std::string_view text :
         {"", "proxy.lan", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "fd00::/129",
          "10.0.0.0/8/8", "fe80::1%eth0", "[::1]", "10.0.0.1:80", "/8", "10.0.0.0/255.0.0.0"})
        EXPECT_FALSE(parse_network(text)) << text;
    EXPECT_THAT(parse_network("proxy.lan").error(), HasSubstr("such as 127.0.0.1 or 10.0.0.0/8"));
    EXPECT_THAT(parse_network("10.0.0.0/33").error(), HasSubstr("from 1 to 32"));
    EXPECT_THAT(parse_network("10.0.0.7/8").error(), HasSubstr("the network is 10.0.0.0/8"));
    EXPECT_THAT(parse_network("0.0.0.0/0").error(), HasSubstr("the whole internet"));
    EXPECT_THAT(parse_network("::/0").error(), HasSubstr("the whole internet"));
}

}  // namespace
}  // namespace turnpike
