// A real guard, in a forked process. The test plays the gate at the other end of its control socket.
#include "os/guard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::HasSubstr;
using Kind = GuardReport::Kind;

constexpr int patience_ms = 30'000;  // then the test fails instead of hanging

/// Moves the descriptors to 0, 1, 2, …, and closes all others.
void place(std::vector<int> descriptors) {
    constexpr int above = 100;
    for (int& fd : descriptors) fd = ::fcntl(fd, F_DUPFD, above);
    for (std::size_t i = 0; i < descriptors.size(); ++i)
        ::dup2(descriptors[i], static_cast<int>(i));
    ::close_range(static_cast<unsigned>(descriptors.size()), ~0U, 0);
}

class GuardOfATest : public testing::Test {
protected:
    ~GuardOfATest() override {
        control_.reset();
        if (guard_ > 0) ::waitpid(guard_, nullptr, 0);
    }

    void start(GuardOrders orders) {
        std::array<int, 2> sockets{};
        std::array<int, 2> pipe{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
        ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
        control_ = UniqueFd(sockets[0]);
        out_ = UniqueFd(pipe[0]);
        const UniqueFd theirs(sockets[1]);
        const UniqueFd out(pipe[1]);
        orders.label = "test";
        std::vector<std::string> words = arguments_of(orders);
        guard_ = ::fork();
        if (guard_ != 0) return;
        std::signal(SIGCHLD, SIG_DFL);
        place({0, out.get(), out.get(), theirs.get()});
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        ::_exit(run_guard(pointers));
    }
    /// Asks the guard, which may have ended already.
    void ask(GuardRequest request) const {
        const char byte = static_cast<char>(request);
        EXPECT_TRUE(::send(control_.get(), &byte, 1, MSG_NOSIGNAL) == 1 || errno == EPIPE);
    }
    /// Waits for the guard's next report. Nullopt if it has ended.
    std::optional<GuardReport> next() const {
        GuardReport report;
        EXPECT_TRUE(wait_for(control_));
        ssize_t size = -1;
        do size = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
        while (size < 0 && errno == ECONNRESET);  // told once, before the last reports
        if (size == 0) return std::nullopt;
        EXPECT_EQ(size, static_cast<ssize_t>(sizeof report));
        return report;
    }
    /// Waits for the next report, which must be of this kind.
    GuardReport expect(Kind kind) const {
        const auto report = next();
        EXPECT_TRUE(report && report->kind == kind);
        return report.value_or(GuardReport{});
    }
    /// Waits until the worker or its tree has printed this.
    void hear(std::string_view text) {
        while (!printed_.contains(text) && read_out()) {
        }
        EXPECT_THAT(printed_, HasSubstr(text));
    }
    /// Waits until no process has the output any more.
    void hear_the_end() {
        while (read_out()) {
        }
    }
    /// Returns the guard's exit code, or -1 if it was killed.
    int guard_exit() {
        int status = 0;
        EXPECT_EQ(::waitpid(std::exchange(guard_, 0), &status, 0) > 0, true);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    static std::vector<pid_t> pids_of(const GuardReport& report) {
        return {report.pids.begin(), report.pids.begin() + report.pid_count};
    }

    UniqueFd control_, out_;
    pid_t guard_ = 0;
    std::string printed_;

private:
    static bool wait_for(const UniqueFd& fd) {
        pollfd one{.fd = fd.get(), .events = POLLIN, .revents = 0};
        int found = -1;
        do found = ::poll(&one, 1, patience_ms);
        while (found < 0 && errno == EINTR);  // SIGCHLD, for which another test has a handler
        return found == 1;
    }
    bool read_out() {
        std::array<char, 4096> room{};
        EXPECT_TRUE(wait_for(out_));
        const ssize_t size = ::read(out_.get(), room.data(), room.size());
        if (size > 0) printed_.append(room.data(), static_cast<std::size_t>(size));
        return size > 0;
    }
};

TEST_F(GuardOfATest, ReportsTheStartAndTheEndOfItsWorkerAndEnds) {
    start({.command = "exit 3"});
    const GuardReport started = expect(Kind::started);
    EXPECT_GT(started.pid, 0);
    EXPECT_EQ(started.guard, guard_);
    const GuardReport exited = expect(Kind::exited);
    EXPECT_EQ(exited.pid, started.pid);
    EXPECT_EQ(exited.code, CLD_EXITED);
    EXPECT_EQ(exited.status, 3);
    EXPECT_THAT(pids_of(expect(Kind::gone)), Contains(started.pid));
    EXPECT_FALSE(next());
    EXPECT_EQ(guard_exit(), 0);
}

TEST_F(GuardOfATest, ReportsAFolderThatItsWorkerCannotEnter) {
    start({.folder = "/no/such/folder", .command = "exit 0"});
    const GuardReport failed = expect(Kind::failed);
    EXPECT_EQ(failed.step, GuardReport::Step::folder);
    EXPECT_EQ(failed.status, ENOENT);
}

TEST_F(GuardOfATest, PassesOnARequestToTerminate) {
    start({.command = "trap 'echo bye; exit 5' TERM; sleep 1000 & echo ready; wait"});
    expect(Kind::started);
    hear("ready");
    ask(GuardRequest::terminate);
    EXPECT_EQ(expect(Kind::exited).status, 5);
    hear("bye");
    ask(GuardRequest::kill);  // `sleep` may have missed the signal: it was the shell until its exec
    expect(Kind::gone);
}

TEST_F(GuardOfATest, KillsTheWholeTreeAlsoWhatHasLeftItsSession) {
    start({.command = "trap '' TERM; setsid sh -c 'echo away; sleep 1000' & echo $!; wait; wait"});
    const GuardReport started = expect(Kind::started);
    hear("away");
    ask(GuardRequest::kill);
    const GuardReport exited = expect(Kind::exited);
    EXPECT_EQ(exited.code, CLD_KILLED);
    EXPECT_EQ(exited.status, SIGKILL);
    const std::vector<pid_t> gone = pids_of(expect(Kind::gone));
    EXPECT_THAT(gone, Contains(started.pid));
    EXPECT_GE(gone.size(), 2U);
    hear_the_end();
}

TEST_F(GuardOfATest, IsGoneOnlyOnceTheProcessesThatItsWorkerLeftAreGone) {
    start({.command = "sh -c 'echo left; sleep 1000' & read -r never </dev/null; exit 0"});
    expect(Kind::started);
    expect(Kind::exited);
    hear("left");
    ask(GuardRequest::kill);
    expect(Kind::gone);
    hear_the_end();
}

TEST_F(GuardOfATest, EndsItsTreeAndItselfIfTheGateIsGone) {
    start({.command = "setsid sleep 1000 & echo ready; sleep 1000"});
    expect(Kind::started);
    hear("ready");
    control_.reset();
    hear_the_end();
    EXPECT_EQ(guard_exit(), 0);
}

TEST_F(GuardOfATest, IgnoresSignalsThatAreForTheGate) {
    start({.command = "echo ready; sleep 1000"});
    expect(Kind::started);
    hear("ready");
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::kill(guard_, signal);
    const char nonsense = '?';
    ASSERT_EQ(::send(control_.get(), &nonsense, 1, MSG_NOSIGNAL), 1);
    ask(GuardRequest::terminate);
    EXPECT_EQ(expect(Kind::exited).status, SIGTERM) << "the guard still does its work";
    expect(Kind::gone);
    EXPECT_FALSE(next());
    EXPECT_EQ(guard_exit(), 0);
}

TEST_F(GuardOfATest, LimitsTheOpenFilesOfItsWorker) {
    start({.open_files = 77, .command = "ulimit -Sn"});
    hear("77\n");
}

TEST_F(GuardOfATest, LetsItsWorkerJoinItsControlGroupAndKillsTheGroup) {
    const TemporaryFolder group;  // in place of a real one, which tests may seldom make
    group.write("cgroup.procs", "");
    group.write("cgroup.kill", "");
    start({.cgroup = group.file("."), .command = "echo up; sleep 60"});
    expect(Kind::started);
    hear("up");
    EXPECT_EQ(group.read("cgroup.procs"), "0") << "the worker has joined before it ran";
    EXPECT_EQ(group.read("cgroup.kill"), "");
    ask(GuardRequest::kill);
    expect(Kind::exited);
    expect(Kind::gone);
    EXPECT_EQ(group.read("cgroup.kill"), "1");
}

TEST_F(GuardOfATest, RemovesItsControlGroupAtTheEnd) {
    const TemporaryFolder home;
    const std::string group = home.file("group");
    std::filesystem::create_directory(group);
    start({.cgroup = group, .command = "exit 0"});
    expect(Kind::started);
    expect(Kind::exited);
    expect(Kind::gone);
    EXPECT_FALSE(home.has("group"));
}

TEST_F(GuardOfATest, RunsItsWorkerWithoutAControlGroupIfItCannotBeJoined) {
    start({.cgroup = "/nowhere", .command = "exit 3"});
    expect(Kind::started);
    EXPECT_EQ(expect(Kind::exited).status, 3);
    expect(Kind::gone);
}

TEST(Guard, RefusesToBeStartedByHand) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_guard({}), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("do not run it by hand"));
}

}  // namespace
}  // namespace turnpike
