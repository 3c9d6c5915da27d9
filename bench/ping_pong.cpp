// The client of bench/native_latency.py, which sends one job at a time, and the smallest programs
// that could replace the gate. They use blocking sockets and nothing else.
//
//   ping_pong client PORT COUNT    one request after the other; times from request to answer
//   ping_pong relay PORT           client ─TCP─▶ relay ─socketpair─▶ worker, and back; without HTTP
//   ping_pong direct PORT          client ─TCP─▶ worker, and back
//   ping_pong gap COUNT WORK_US    a worker on a socketpair; times from its answer to its next job
//
// `client` and `gap` print "p50 p99" in microseconds.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view request =
    "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 53\r\n\r\n{\"prompt\": \"What is the answer?\", \"temperature\": 0.7}";
// Has the length of the gate's answer.
constexpr std::string_view answer =
    "HTTP/1.1 200 OK\r\nDate: Sun, 15 Nov 2026 18:30:00 GMT\r\nContent-Type: application/json\r\n"
    "Turnpike-Job: 0123456789abcdef\r\nTurnpike-Lane: 0\r\nTurnpike-Attempt: 1\r\n"
    "Turnpike-Generation: 1\r\nServer-Timing: queue;dur=0.010, run;dur=0.040\r\n"
    "Content-Length: 14\r\n\r\n{\"answer\": 42}";
constexpr std::size_t done_size = 80;  // about the size of a job's frames on the worker's socket
constexpr std::size_t job_size = 260;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

void write_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (done <= 0) std::exit(0);  // the other side has closed
        bytes.remove_prefix(static_cast<std::size_t>(done));
    }
}

/// Returns at least one byte. Ends the program if the other side has closed.
std::string_view read_some(int socket, std::array<char, 4096>& room) {
    const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
    if (got <= 0) std::exit(0);
    return {room.data(), static_cast<std::size_t>(got)};
}

void read_exactly(int socket, std::size_t size) {
    std::array<char, 4096> room{};
    while (size > 0) size -= std::min(size, read_some(socket, room).size());
}

/// Returns the size of the whole answer at the front of `bytes`, or 0 if its head is not complete.
std::size_t answer_size(std::string_view bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string_view::npos) return 0;
    constexpr std::string_view name = "ontent-Length: ";
    const std::size_t at = bytes.find(name);
    if (at == std::string_view::npos || !bytes.starts_with("HTTP/1.1 200 ")) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(bytes.size()), bytes.data());
        std::exit(1);
    }
    return head + 4 + std::strtoul(bytes.data() + at + name.size(), nullptr, 10);
}

void print(std::vector<Clock::duration>& times) {
    std::ranges::sort(times);
    const auto at = [&times](double part) {
        const auto place = static_cast<std::size_t>(part * static_cast<double>(times.size() - 1));
        return std::chrono::duration<double, std::micro>(times[place]).count();
    };
    std::printf("%.2f %.2f\n", at(0.5), at(0.99));
}

sockaddr_in address_of(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void be_prompt(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void be_client(int port, std::size_t count) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = address_of(port);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail("ping_pong: connect");
    be_prompt(socket);
    std::vector<Clock::duration> times(count);
    std::array<char, 4096> room{};
    std::string came;
    for (Clock::duration& time : times) {
        const Clock::time_point start = Clock::now();
        write_all(socket, request);
        came.clear();
        while (came.empty() || answer_size(came) == 0 || came.size() < answer_size(came))
            came += read_some(socket, room);
        time = Clock::now() - start;
    }
    print(times);
}

int one_client(int port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = address_of(port);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 8) != 0)
        fail("ping_pong: listen");
    while (true) {
        const int client = ::accept(listener, nullptr, nullptr);
        std::array<char, 1> first{};
        be_prompt(client);
        if (::recv(client, first.data(), 1, MSG_PEEK) == 1) return client;
        ::close(client);  // this client only checked that the port is open
    }
}

/// Forks a child that runs `work` with one end of a socketpair, and returns the other end. The
/// child ends with its parent.
template <class Work>
int fork_peer(Work work) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        fail("ping_pong: socketpair");
    if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(ends[0]);
        work(ends[1]);
    }
    ::close(ends[1]);
    return ends[0];
}

void answer_for_ever(int socket) {
    while (true) {
        read_exactly(socket, request.size());
        write_all(socket, answer);
    }
}

void be_relay(int port) {
    const int worker = fork_peer(answer_for_ever);
    const int client = one_client(port);
    std::array<char, 4096> room{};
    while (true) {  // one job at a time, so the two sides take turns
        write_all(worker, read_some(client, room));
        write_all(client, read_some(worker, room));
    }
}

void be_gap(std::size_t count, std::chrono::microseconds work) {
    const int gate = fork_peer([](int worker) {
        const std::string job(job_size, 'j');
        while (true) {
            read_exactly(worker, done_size);
            write_all(worker, job);
        }
    });
    const std::string done(done_size, 'd');
    std::vector<Clock::duration> times(count);
    for (Clock::duration& time : times) {
        const Clock::time_point start = Clock::now();
        while (Clock::now() - start < work) {
        }
        const Clock::time_point end = Clock::now();
        write_all(gate, done);
        read_exactly(gate, job_size);
        time = Clock::now() - end;
    }
    print(times);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 2 ? argv[1] : "";
    const int first = argc > 2 ? std::atoi(argv[2]) : 0;
    const int second = argc > 3 ? std::atoi(argv[3]) : 0;
    if (what == "relay" && first > 0) be_relay(first);
    if (what == "direct" && first > 0) answer_for_ever(one_client(first));
    if (what == "client" && first > 0 && second > 0) {
        be_client(first, static_cast<std::size_t>(second));
    } else if (what == "gap" && first > 0) {
        be_gap(static_cast<std::size_t>(first), std::chrono::microseconds(second));
    } else {
        std::fputs("ping_pong: wrong arguments; bench/ping_pong.cpp lists them\n", stderr);
        return 2;
    }
}
