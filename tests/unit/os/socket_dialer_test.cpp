// Why a connection could not be made. What this machine lacks is no fault of whoever listens. Each
// test runs in a network of its own, which has nothing but loopback.
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "os/file.h"
#include "os/socket_transport.h"

namespace turnpike {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int no_network = 200;  // exit code: this machine does not let us have one of our own
constexpr int connected = 100;   // exit code; others are the number of the ConnectFailure

bool write_to(const char* path, const char* text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

bool enter_own_network() {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP | IFF_RUNNING;
    return ::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) == 0;
}

/// Returns how the dialer's connection went, as an exit code.
int code_of_dialing(asio::io_context& loop, const tcp::endpoint& to) {
    SocketDialer dialer(loop);
    int code = no_network;
    const auto call = dialer.dial(to, [&code](const Connected& made) {
        code = made ? connected : static_cast<int>(made.error());
    });
    loop.run();
    return code;
}

/// Runs the test in a child process with a network of its own. Returns its exit code.
int in_own_network(int (*test)()) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(enter_own_network() ? test() : no_network);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int code_of(ConnectFailure failure) { return static_cast<int>(failure); }

tcp::endpoint listen_at(tcp::acceptor& listener) {
    listener.open(tcp::v4());
    listener.bind({asio::ip::address_v4::loopback(), 80});
    listener.listen();
    return listener.local_endpoint();
}

TEST(SocketDialer, TellsThatNoPortIsLeftFromAWorkerThatCannotBeReached) {
    const int code = in_own_network([] {
        if (!write_to("/proc/sys/net/ipv4/ip_local_port_range", "40000 40003")) return no_network;
        asio::io_context loop;
        tcp::acceptor listener(loop);
        const tcp::endpoint there = listen_at(listener);
        std::vector<tcp::socket> all;  // until the ports are used up
        for (boost::system::error_code error; !error && all.size() < 100;)
            all.emplace_back(loop).connect(there, error);
        return code_of_dialing(loop, there);
    });
    if (code == no_network) GTEST_SKIP() << "no network of our own";
    EXPECT_EQ(code, code_of(ConnectFailure::no_port));
}

TEST(SocketDialer, TakesAnAddressThatThisMachineCannotReachForNoShortage) {
    const int code = in_own_network([] {
        std::ignore = write_to("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        asio::io_context loop;
        return code_of_dialing(loop, {asio::ip::address_v6::loopback(), 80});
    });
    if (code == no_network) GTEST_SKIP() << "no network of our own";
    EXPECT_EQ(code, code_of(ConnectFailure::failed));
}

TEST(SocketDialer, TellsThatNothingListens) {
    const int code = in_own_network([] {
        asio::io_context loop;
        return code_of_dialing(loop, {asio::ip::address_v4::loopback(), 80});
    });
    if (code == no_network) GTEST_SKIP() << "no network of our own";
    EXPECT_EQ(code, code_of(ConnectFailure::refused));
}

TEST(SocketDialer, TellsThatNoDescriptorIsLeft) {
    const int code = in_own_network([] {
        asio::io_context loop;
        tcp::acceptor listener(loop);
        const tcp::endpoint there = listen_at(listener);
        const rlimit none{.rlim_cur = 4, .rlim_max = 4};
        ::setrlimit(RLIMIT_NOFILE, &none);
        return code_of_dialing(loop, there);
    });
    if (code == no_network) GTEST_SKIP() << "no network of our own";
    EXPECT_EQ(code, code_of(ConnectFailure::shortage));
}

}  // namespace
}  // namespace turnpike
