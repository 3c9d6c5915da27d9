#include "os/listener_lookup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>

namespace turnpike {
namespace {

using boost::asio::ip::tcp;
using Acceptor = tcp::acceptor;

class ListenerLookup : public testing::Test {
protected:
    static constexpr int reuse_port = SO_REUSEPORT;

    ListenerLookup() {
        Acceptor any(loop_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
        if (!lookup_(any.local_endpoint())) missing_ = "the kernel has no sock_diag";
    }
    void SetUp() override {
        if (!missing_.empty()) GTEST_SKIP() << missing_;
    }
    Acceptor listen(const std::string& address, std::uint16_t port = 0, bool is_shared = false) {
        const tcp::endpoint endpoint(boost::asio::ip::make_address(address), port);
        Acceptor acceptor(loop_, endpoint.protocol());
        const int on = 1;
        if (is_shared)
            ::setsockopt(acceptor.native_handle(), SOL_SOCKET, reuse_port, &on, sizeof on);
        if (endpoint.protocol() == tcp::v6()) acceptor.set_option(boost::asio::ip::v6_only(false));
        acceptor.bind(endpoint);
        acceptor.listen();
        return acceptor;
    }
    static ListenerId id_of(Acceptor& acceptor) {
        struct stat facts{};
        ::fstat(acceptor.native_handle(), &facts);
        return {.number = facts.st_ino, .owner = ::geteuid()};
    }
    [[nodiscard]] std::optional<ListenerId> at(const std::string& address, Acceptor& acceptor) {
        return lookup_(tcp::endpoint(boost::asio::ip::make_address(address),
                                     acceptor.local_endpoint().port()));
    }

    boost::asio::io_context loop_;
    ListenerAt lookup_ = make_listener_lookup();
    std::string missing_;
};

TEST_F(ListenerLookup, NamesTheListenerOfAnAddress) {
    Acceptor own = listen("127.0.0.1");
    EXPECT_EQ(at("127.0.0.1", own), id_of(own));
    EXPECT_FALSE(at("127.0.0.2", own)) << "it does not listen there";
}

TEST_F(ListenerLookup, NamesNobodyWhereNobodyListens) {
    Acceptor own = listen("127.0.0.1");
    const tcp::endpoint endpoint = own.local_endpoint();
    own.close();
    EXPECT_FALSE(lookup_(endpoint));
}

TEST_F(ListenerLookup, NamesTheSameListenerWithConnectionsToIt) {
    Acceptor own = listen("127.0.0.1");
    std::vector<tcp::socket> clients;
    for (int i = 0; i < 20; ++i) {
        clients.emplace_back(loop_);
        clients.back().connect(own.local_endpoint());
        EXPECT_EQ(at("127.0.0.1", own), id_of(own));
    }
}

TEST_F(ListenerLookup, NamesAnotherListenerAfterTheFirstOneWasReplaced) {
    Acceptor own = listen("127.0.0.1");
    const std::uint16_t port = own.local_endpoint().port();
    const ListenerId before = id_of(own);
    own.close();
    Acceptor again = listen("127.0.0.1", port);
    EXPECT_EQ(at("127.0.0.1", again), id_of(again));
    EXPECT_NE(id_of(again), before);
}

TEST_F(ListenerLookup, NamesAListenerOnEveryAddressOnlyIfNoOtherIsMoreSpecific) {
    Acceptor every = listen("0.0.0.0", 0, true);
    EXPECT_EQ(at("127.0.0.1", every), id_of(every));
    Acceptor special = listen("127.0.0.1", every.local_endpoint().port(), true);
    EXPECT_EQ(at("127.0.0.1", every), id_of(special)) << "this one gets the connections";
}

TEST_F(ListenerLookup, NamesAnIPv6ListenerThatTakesIPv4Too) {
    try {
        Acceptor both = listen("::");
        EXPECT_EQ(at("127.0.0.1", both), id_of(both));
        EXPECT_EQ(at("::1", both), id_of(both));
    } catch (const boost::system::system_error&) {
        GTEST_SKIP() << "no IPv6 here";
    }
}

TEST_F(ListenerLookup, NamesEachOfSeveralThatShareAPort) {
    Acceptor first = listen("127.0.0.1", 0, true);
    Acceptor second = listen("127.0.0.1", first.local_endpoint().port(), true);
    std::set<ListenerId> seen;
    for (int i = 0; i < 1000 && seen.size() < 2; ++i) seen.insert(at("127.0.0.1", first).value());
    EXPECT_EQ(seen, (std::set{id_of(first), id_of(second)}));
}

TEST_F(ListenerLookup, CanBeAskedManyTimes) {
    Acceptor own = listen("127.0.0.1");
    for (int i = 0; i < 70'000; ++i) ASSERT_EQ(at("127.0.0.1", own), id_of(own)) << i;
}

}  // namespace
}  // namespace turnpike
