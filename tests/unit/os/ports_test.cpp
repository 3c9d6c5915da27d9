#include "os/ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <thread>

#include "os/file.h"
#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Holder = PortStatus::Holder;
using Protocol = PortStatus::Protocol;

enum class Socket : std::uint8_t {
    listening,
    bound
};  // bound: it has the port and does not listen

/// A listener of this process: on loopback, with a port that nobody else has.
class Listener {
public:
    explicit Listener(Socket state = Socket::listening, std::uint16_t port = 0,
                      in_addr_t where = INADDR_LOOPBACK)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(where);
        address.sin_port = htons(port);
        take(address, state);
        port_ = ntohs(address.sin_port);
    }

    struct V6 {
        in6_addr where = in6addr_loopback;
        int is_only = 1;  // takes no IPv4
        std::uint16_t port = 0;
    };
    explicit Listener(const V6& v6) : socket_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_addr = v6.where;
        address.sin6_port = htons(v6.port);
        ::setsockopt(fd(), IPPROTO_IPV6, IPV6_V6ONLY, &v6.is_only, sizeof v6.is_only);
        take(address, Socket::listening);
        port_ = ntohs(address.sin6_port);
    }

    [[nodiscard]] bool is_there() const { return is_there_; }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    template <class Address>
    void take(Address& address, Socket state) {
        auto* const place = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        is_there_ = ::bind(fd(), place, size) == 0 && ::getsockname(fd(), place, &size) == 0 &&
                    (state == Socket::bound || ::listen(fd(), 8) == 0);
    }

    UniqueFd socket_;
    std::uint16_t port_ = 0;
    bool is_there_ = false;
};

/// A child process that shares these sockets.
class SharingChild {
public:
    explicit SharingChild(std::vector<int> sockets)
        : pid_(spawn({.program = "/bin/sleep",
                      .arguments = {"sleep", "1000"},
                      .environment = {},
                      .descriptors = std::move(sockets)})
                   .value()) {}
    ~SharingChild() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    SharingChild(const SharingChild&) = delete;
    SharingChild& operator=(const SharingChild&) = delete;

private:
    pid_t pid_;
};

PortStatus status_of(std::uint16_t port, pid_t root, PortLook look = PortLook::thorough) {
    return look_at_port(port, root, look);
}

TEST(ChosenPort, IsNotInUse) {
    const auto first = choose_port({}, 4711);
    ASSERT_TRUE(first);
    const Listener listener(Socket::listening, *first);
    ASSERT_TRUE(listener.is_there());
    const auto second = choose_port({}, 4711);
    ASSERT_TRUE(second);
    EXPECT_NE(*second, *first);
    const Listener silent(Socket::bound, *second);
    ASSERT_TRUE(silent.is_there());
    EXPECT_THAT((std::set{*first, *second}), Not(Contains(choose_port({}, 4711).value())));
}

TEST(ChosenPort, IsNotAnExcludedOne) {
    const auto first = choose_port({}, 4711);
    ASSERT_TRUE(first);
    EXPECT_NE(choose_port({*first}, 4711), first);
}

/// Takes and gives back the last descriptors of this process, all the time, as other threads may.
class DescriptorHog {
public:
    DescriptorHog() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(next.get()) + 4;
        ::setrlimit(RLIMIT_NOFILE, &few);
        thread_ = std::jthread([](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                std::array<UniqueFd, 4> taken;
                for (UniqueFd& file : taken)
                    file = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            }
        });
    }
    ~DescriptorHog() {
        thread_ = {};
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    DescriptorHog(const DescriptorHog&) = delete;
    DescriptorHog& operator=(const DescriptorHog&) = delete;

private:
    rlimit before_{};
    std::jthread thread_;
};

TEST(ChosenPort, IsMissingForWantOfDescriptorsAndNotBecauseNoneIsFree) {
    const DescriptorHog hog;
    for (int i = 0; i < 2000; ++i) {
        const auto port = choose_port({}, 4711);
        ASSERT_TRUE(port || port.error() == Shortage::descriptors);
    }
}

TEST(PortStatus, IsUnknownIfFilesCannotBeOpenedAtAnyMomentOfTheLook) {
    const Listener listener;
    ASSERT_TRUE(listener.is_there());
    const SharingChild child({listener.fd()});
    int unknown = 0;
    int seen = 0;
    const DescriptorHog hog;
    for (int i = 0; i < 500; ++i) {
        const PortStatus status = status_of(listener.port(), ::getpid());
        ASSERT_TRUE(status.holder == Holder::tree || status.holder == Holder::unknown)
            << static_cast<int>(status.holder);
        EXPECT_EQ(status.shortage,
                  status.holder == Holder::unknown ? Shortage::descriptors : Shortage::none);
        (status.holder == Holder::unknown ? unknown : seen) += 1;
    }
    RecordProperty("unknown", unknown);
    RecordProperty("seen", seen);
}

TEST(ChosenPort, IsMissingIfNoneIsLeft) {
    std::set<std::uint16_t> all;
    for (std::uint32_t port = 0; port <= 65535; ++port)
        all.insert(static_cast<std::uint16_t>(port));
    EXPECT_EQ(choose_port(all, 4711).error(), Shortage::ports);
}

TEST(ChosenPort, IsOutsideTheRangeForConnections) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first >> last;
    if (last == 0 || (first <= 21000 && last > 64535))
        GTEST_SKIP() << "connections may use all ports here";
    for (const std::uint64_t random : {0ULL, 1ULL, 12345ULL, ~0ULL}) {
        const auto port = choose_port({}, random);
        ASSERT_TRUE(port);
        EXPECT_TRUE(*port < first || *port > last) << *port;
        EXPECT_GE(*port, 1024);
    }
}

TEST(PortStatus, OfAPortOnWhichNobodyListens) {
    const Listener silent(Socket::bound);
    ASSERT_TRUE(silent.is_there());
    const SleepingProcess sleeper;
    const PortStatus status = status_of(silent.port(), sleeper.pid());
    EXPECT_EQ(status.holder, Holder::nobody);
    EXPECT_THAT(status.stranger, IsEmpty());
    EXPECT_THAT(status.other_ports, IsEmpty());
}

TEST(PortStatus, OfAProcessBelow) {
    const Listener listener;
    ASSERT_TRUE(listener.is_there());
    const SharingChild child({listener.fd()});
    for (const PortLook look : {PortLook::quick, PortLook::thorough}) {
        const PortStatus status = status_of(listener.port(), ::getpid(), look);
        EXPECT_EQ(status.holder, Holder::tree);
        EXPECT_EQ(status.protocol, Protocol::ipv4);
        EXPECT_FALSE(status.is_exposed);
    }
}

TEST(PortStatus, OfAProcessBelowThatListensOnEveryAddress) {
    const Listener listener(Socket::listening, 0, INADDR_ANY);
    ASSERT_TRUE(listener.is_there());
    const SharingChild child({listener.fd()});
    const PortStatus status = status_of(listener.port(), ::getpid());
    EXPECT_EQ(status.holder, Holder::tree);
    EXPECT_TRUE(status.is_exposed);
}

TEST(PortStatus, OfAProcessBelowThatSpeaksIPv6Only) {
    const Listener listener(Listener::V6{});
    if (!listener.is_there()) GTEST_SKIP() << "no IPv6 here";
    const SharingChild child({listener.fd()});
    const PortStatus status = status_of(listener.port(), ::getpid());
    EXPECT_EQ(status.holder, Holder::tree);
    EXPECT_EQ(status.protocol, Protocol::ipv6);
    EXPECT_FALSE(status.is_exposed);
}

/// Servers that listen on every address do this. We reach them by IPv4, which every machine has.
TEST(PortStatus, OfAProcessBelowWhoseIPv6ListenerTakesIPv4Too) {
    const Listener both({.where = in6addr_any, .is_only = 0});
    const Listener only({.where = in6addr_any, .is_only = 1});
    if (!both.is_there() || !only.is_there()) GTEST_SKIP() << "no IPv6 here";
    const SharingChild child({both.fd(), only.fd()});
    EXPECT_EQ(status_of(both.port(), ::getpid()).protocol, Protocol::ipv4);
    EXPECT_EQ(status_of(only.port(), ::getpid()).protocol, Protocol::ipv6);
    for (const Listener* listener : {&both, &only}) {
        EXPECT_EQ(status_of(listener->port(), ::getpid()).holder, Holder::tree);
        EXPECT_TRUE(status_of(listener->port(), ::getpid()).is_exposed);
    }
}

TEST(ChosenPort, IsNotInUseByIPv6) {
    const auto first = choose_port({}, 815);
    ASSERT_TRUE(first);
    const Listener listener({.port = *first});
    if (!listener.is_there()) GTEST_SKIP() << "no IPv6 here";
    EXPECT_NE(choose_port({}, 815), first);
}

TEST(PortStatus, OfAProcessBelowThatSpeaksBothIsIPv4) {
    const Listener v6(Listener::V6{});
    if (!v6.is_there()) GTEST_SKIP() << "no IPv6 here";
    const Listener v4(Socket::listening, v6.port());
    if (!v4.is_there()) GTEST_SKIP() << "somebody else has the same port";
    const SharingChild child({v6.fd(), v4.fd()});
    const PortStatus status = status_of(v4.port(), ::getpid());
    EXPECT_EQ(status.holder, Holder::tree);
    EXPECT_EQ(status.protocol, Protocol::ipv4);
}

TEST(PortStatus, OfAStrangerHasItsName) {
    const Listener listener;
    ASSERT_TRUE(listener.is_there());
    const SleepingProcess sleeper;
    const PortStatus status = status_of(listener.port(), sleeper.pid());
    EXPECT_EQ(status.holder, Holder::stranger);
    EXPECT_THAT(status.stranger, HasSubstr("(pid " + std::to_string(::getpid()) + ')'));
    EXPECT_THAT(status.stranger, testing::StartsWith(read_process(::getpid())->name));
}

TEST(PortStatus, HasTheOtherPortsOfTheTree) {
    const Listener silent(Socket::bound);
    const Listener elsewhere;
    ASSERT_TRUE(silent.is_there() && elsewhere.is_there());
    const SharingChild child({elsewhere.fd()});
    const PortStatus status = status_of(silent.port(), ::getpid());
    EXPECT_EQ(status.holder, Holder::nobody);
    EXPECT_THAT(status.other_ports, Contains(elsewhere.port()));
    EXPECT_THAT(status_of(silent.port(), ::getpid(), PortLook::quick).other_ports, IsEmpty());
}

TEST(PortStatus, HasTheListenersOfTheTree) {
    const Listener listener;
    ASSERT_TRUE(listener.is_there());
    const SharingChild child({listener.fd()});
    struct stat facts{};
    ::fstat(listener.fd(), &facts);
    EXPECT_THAT(status_of(listener.port(), ::getpid()).listeners,
                testing::ElementsAre(ListenerId{.number = facts.st_ino, .owner = ::geteuid()}));
    const SleepingProcess sleeper;
    EXPECT_THAT(status_of(listener.port(), sleeper.pid()).listeners, IsEmpty());
}

ListenerId made_by(pid_t pid, uid_t user = ::geteuid()) {
    return {.number = static_cast<std::uint64_t>(pid), .owner = user};
}

TEST(SocketStatus, IsOfTheTreeIfOneOfItsProcessesMadeTheSocket) {
    const SleepingProcess sleeper;
    const PortStatus status = look_at_socket(made_by(sleeper.pid()), ::getpid());
    EXPECT_EQ(status.holder, Holder::tree);
    EXPECT_THAT(status.listeners, testing::ElementsAre(made_by(sleeper.pid())));
}

TEST(SocketStatus, IsAStrangersIfAnotherProcessMadeTheSocket) {
    const SleepingProcess sleeper;
    const PortStatus status = look_at_socket(made_by(::getpid()), sleeper.pid());
    EXPECT_EQ(status.holder, Holder::stranger);
    EXPECT_THAT(status.stranger, HasSubstr("(pid " + std::to_string(::getpid()) + ')'));
}

TEST(SocketStatus, IsUnknownIfFilesCannotBeOpenedAtAnyMomentOfTheLook) {
    const SleepingProcess sleeper;
    const DescriptorHog hog;
    for (int i = 0; i < 500; ++i) {
        const Holder holder = look_at_socket(made_by(sleeper.pid()), ::getpid()).holder;
        ASSERT_TRUE(holder == Holder::tree || holder == Holder::unknown)
            << static_cast<int>(holder);
    }
}

TEST(SocketStatus, IsOfTheTreeIfAProcessOfItsUserMadeTheSocketAndEnded) {
    constexpr pid_t nobody = 0x7ffffff;  // above every pid
    const SleepingProcess sleeper;
    EXPECT_EQ(look_at_socket(made_by(nobody), ::getpid()).holder, Holder::tree);
    const PortStatus status = look_at_socket(made_by(nobody, ::geteuid() + 1), ::getpid());
    EXPECT_EQ(status.holder, Holder::stranger);
    EXPECT_EQ(status.stranger, "another process");
}

}  // namespace
}  // namespace turnpike
