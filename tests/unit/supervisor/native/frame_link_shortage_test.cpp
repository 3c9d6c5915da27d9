// A link that is short of something keeps what it has to send, and its worker is not blamed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "os/send.h"
#include "supervisor/native/frame_link.h"
#include "tests/unit/supervisor/native/native_worker_stand.h"

namespace turnpike {
namespace {

constexpr int not_limited = 77;  // exit code: the limit does not hold for this process

struct CountingUser final : FrameLinkUser {
    int breaks = 0;
    bool heard(const wire::WorkerFrame&) override { return true; }
    void link_broke(wire::Breach, std::uint8_t) override { ++breaks; }
};

/// Becomes a user without rights, whose descriptors on their way are limited.
bool drop_rights() {
    constexpr uid_t nobody = 65534;
    const rlimit few{.rlim_cur = 40, .rlim_max = 40};
    return ::setrlimit(RLIMIT_NOFILE, &few) == 0 && (::geteuid() != 0 || ::setuid(nobody) == 0);
}

/// Sends descriptors that nobody receives until the kernel takes no more.
bool fill_the_way(int socket, int file) {
    for (int i = 0; i < 1000; ++i)
        if (send_descriptors(socket, "x", std::span(&file, 1)) < 0) return errno == ETOOMANYREFS;
    return false;
}

/// Returns 0 if all went as it should, or the number of what did not.
int send_while_too_many_descriptors_are_on_their_way() {
    if (!drop_rights()) return not_limited;
    TestLoop loop;
    VirtualTime time;
    CountingUser user;
    NativePeer peer(loop);
    FrameLink link(loop.context(), loop.wakeups(), time, user);
    link.open(std::move(peer.gate));
    std::array<int, 2> way{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, way.data()) != 0) return 1;
    const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fill_the_way(way[0], file.get())) return not_limited;
    link.send("first", {}, {.file = file.get(), .owner = nullptr});
    link.send("second");
    for (int i = 0; i < 100; ++i) time.advance(1s, [&] { loop.poll(); });
    if (user.breaks != 0 || !link.is_open()) return 2;
    if (!peer.take(100).empty()) return 3;
    ::close(way[0]);
    ::close(way[1]);  // what was on its way is gone
    std::string told;
    for (int i = 0; i < 1000 && told.size() < std::string("firstsecond").size(); ++i) {
        time.advance(1s, [&] { loop.poll(); });
        told += peer.take(100);
    }
    if (user.breaks != 0 || told != "firstsecond") return 4;
    return peer.files.size() == 1 ? 0 : 5;
}

/// The same for a worker that gets a job with a large body, a probe and a proof.
int ask_while_too_many_descriptors_are_on_their_way() {
    NativeWorkerStand stand;
    stand.load();
    stand.say(wire::Ready{.slots = 1, .batch = 1, .has_example = true, .example = "{}"});
    stand.hear();
    const ExchangePtr exchange = stand.exchanges.open(JobId{1});
    exchange->method = "POST";
    exchange->target = "/predict";
    exchange->answer.set_reader(&stand.reader);
    exchange->body.append(stand.store, std::string(10 * stand.store.memory_max, 'x'), [](int) {});
    stand.settle();
    if (!drop_rights()) return not_limited;
    std::array<int, 2> way{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, way.data()) != 0) return 1;
    const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fill_the_way(way[0], file.get())) return not_limited;
    stand.worker->send({.worker = stand.order.worker, .job = {1}, .attempt = {101}});
    stand.settle();  // the body is sealed
    stand.worker->probe(1);
    if (stand.count("ProbeEnded") != 1) return 7;
    if (stand.last<ProbeEnded>().verdict != ProbeVerdict::not_sent) return 2;
    stand.worker->prove(7);
    stand.pass(10s);
    if (stand.count("ProofEnded") < 10 || stand.count("WorkerMisbehaved") != 0) return 3;
    if (stand.last<ProofEnded>().verdict != ProofVerdict::not_sent) return 4;
    ::close(way[0]);
    ::close(way[1]);
    stand.pass(10s);
    const int excused = stand.count("ProofEnded");
    stand.pass(10s);
    if (stand.count("ProofEnded") != excused) return 5;  // from now on its silence counts
    stand.hear();
    return stand.peer.jobs.size() == 2 ? 0 : 6;
}

/// From now on recvmsg() of this process says that the kernel has no memory.
bool forbid_receiving() {
    std::array<sock_filter, 4> code{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_recvmsg, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{.len = code.size(), .filter = code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// A probe is answered, but the answer can't be read. Then the next probe and a proof are due.
int answer_what_nobody_can_read() {
    NativeWorkerStand stand;
    stand.load();
    stand.say(wire::Ready{.slots = 1, .batch = 1, .has_example = true, .example = "{}"});
    stand.worker->probe(1);
    stand.hear();
    if (!forbid_receiving()) return not_limited;
    stand.say(wire::Pong{2});
    stand.pass(10s);
    if (stand.count("ProbeEnded") != 1) return 1;
    if (stand.last<ProbeEnded>().verdict != ProbeVerdict::not_sent) return 2;
    stand.worker->probe(2);
    if (stand.count("ProbeEnded") != 2) return 3;
    if (stand.last<ProbeEnded>().verdict != ProbeVerdict::not_sent) return 4;
    stand.worker->prove(7);
    stand.pass(10s);
    if (stand.count("ProofEnded") < 10 || stand.count("WorkerMisbehaved") != 0) return 5;
    return stand.last<ProofEnded>().verdict == ProofVerdict::not_sent ? 0 : 6;
}

/// The same for a proof that was sent before.
int prove_what_nobody_can_read() {
    NativeWorkerStand stand;
    stand.load();
    stand.say(wire::Ready{.slots = 1, .batch = 1, .has_example = true, .example = "{}"});
    stand.worker->prove(7);
    stand.hear();
    if (!forbid_receiving()) return not_limited;
    stand.say(wire::Failed{.id = stand.peer.jobs.at(0).id, .why = wire::FailWhy::exception});
    stand.pass(10s);
    if (stand.count("ProofEnded") < 10) return 1;
    return stand.last<ProofEnded>().verdict == ProofVerdict::not_sent ? 0 : 2;
}

int code_of(int (*test)()) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(test());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FrameLinkShortage, OfDescriptorsOnTheirWayDelaysFramesAndEndsNobody) {
    const int code = code_of(send_while_too_many_descriptors_are_on_their_way);
    if (code == not_limited) GTEST_SKIP() << "the limit does not hold here";
    EXPECT_EQ(code, 0);
}

TEST(FrameLinkShortage, IsNoSilenceOfTheWorker) {
    const int code = code_of(ask_while_too_many_descriptors_are_on_their_way);
    if (code == not_limited) GTEST_SKIP() << "the limit does not hold here";
    EXPECT_EQ(code, 0);
}

TEST(FrameLinkShortage, OfMemoryToReceiveIsNoSilenceOfTheWorker) {
    for (int (*const test)() : {answer_what_nobody_can_read, prove_what_nobody_can_read}) {
        const int code = code_of(test);
        if (code == not_limited) GTEST_SKIP() << "seccomp can't be used here";
        EXPECT_EQ(code, 0);
    }
}

}  // namespace
}  // namespace turnpike
