// A guard whose worker runs already, as after a warm start. The test forks a process that makes
// both from the other ends of the offer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "os/guarded.h"
#include "os/spawn.h"
#include "tests/unit/loop.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;

/// Moves the descriptors to 0, 1, 2, …, and closes all others.
void place(std::vector<int> descriptors) {
    constexpr int above = 100;
    for (int& fd : descriptors) fd = ::fcntl(fd, F_DUPFD, above);
    for (std::size_t i = 0; i < descriptors.size(); ++i)
        ::dup2(descriptors[i], static_cast<int>(i));
    ::close_range(static_cast<unsigned>(descriptors.size()), ~0U, 0);
}

enum class Adopted : std::uint8_t { running, dead };

/// Runs in a child: makes the worker, then becomes its guard.
[[noreturn]] void become_guard(const Guarded::Offer& offer, const char* script, Adopted adopted) {
    std::signal(SIGCHLD, SIG_DFL);
    place({0, offer.out.get(), offer.err.get(), offer.control.get()});
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t guard = ::getpid();
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::setsid();
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(3);
        if (::getppid() == guard) ::execl("/bin/sh", "sh", "-c", script, nullptr);
        ::_exit(127);
    }
    siginfo_t end{};
    if (adopted == Adopted::dead)
        ::waitid(P_PID, static_cast<id_t>(worker), &end, WEXITED | WNOWAIT);
    std::vector<std::string> words = arguments_of({.label = "lane 0", .adopted = worker});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    ::_exit(run_guard(pointers));
}

class AdoptedWorker : public testing::Test {
protected:
    ~AdoptedWorker() override {
        guarded_->abandon();
        EXPECT_TRUE(loop_.run_until([] { return own_children().empty(); }));
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }

    void start(const char* script, Adopted adopted = Adopted::running) {
        auto offered = guarded_->offer();
        ASSERT_TRUE(offered);
        out_ = std::move(offered->ends.out);
        const pid_t guard = ::fork();
        if (guard == 0) become_guard(offered->theirs, script, adopted);
        offered->theirs = {};
        ASSERT_TRUE(loop_.run_until([&] { return started_.has_value(); }));
        EXPECT_EQ(guarded_->guard(), guard);
        EXPECT_TRUE(children_.has(guard));
    }
    /// Returns the first bytes of what the worker prints.
    [[nodiscard]] std::string printed() const {
        std::array<char, 100> room{};
        const ssize_t size = ::read(out_.get(), room.data(), room.size());
        return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }
    [[nodiscard]] bool run_until_gone() {
        return loop_.run_until([&] { return gone_.has_value(); });
    }

    TestLoop loop_;
    Children children_{loop_.context()};
    UniqueFd out_;
    std::optional<ProcessId> started_;
    std::optional<WorkerEnd> exited_;
    std::optional<std::vector<pid_t>> gone_;
    int never_started_ = 0;
    std::shared_ptr<Guarded> guarded_ = std::make_shared<Guarded>(
        loop_.context(), children_,
        GuardedUser{.started = [this](const ProcessId& process) { started_ = process; },
                    .exited = [this](const WorkerEnd& end) { exited_ = end; },
                    .stuck = [](const std::string& who) { ADD_FAILURE() << who; },
                    .gone = [this](std::vector<pid_t> pids) { gone_ = std::move(pids); },
                    .never_started = [this] { ++never_started_; }});
};

TEST_F(AdoptedWorker, IsKnownAndItsEndIsReported) {
    start("echo hello; exec sleep 1000");
    EXPECT_EQ(printed(), "hello\n");
    ASSERT_TRUE(read_process(started_->pid));
    EXPECT_EQ(read_process(started_->pid)->id, *started_);
    EXPECT_EQ(read_process(started_->pid)->parent, guarded_->guard());
    guarded_->terminate();
    ASSERT_TRUE(run_until_gone());
    ASSERT_TRUE(exited_);
    EXPECT_EQ(exited_->how, "killed by SIGTERM");
    EXPECT_THAT(*gone_, ElementsAre(started_->pid));
    EXPECT_EQ(printed(), "") << "the guard holds no copy of its output";
    EXPECT_EQ(never_started_, 0);
}

TEST_F(AdoptedWorker, ThatIsAlreadyDeadIsReportedWithItsExitCode) {
    start("exit 5", Adopted::dead);
    ASSERT_TRUE(run_until_gone());
    ASSERT_TRUE(exited_);
    EXPECT_EQ(exited_->how, "exit code 5");
    EXPECT_GT(exited_->memory_peak_kib, 0);
    EXPECT_THAT(*gone_, ElementsAre(started_->pid));
}

TEST_F(AdoptedWorker, GoesWithAllThatItStarted) {
    start("sleep 1000 & setsid sleep 1000 & (sleep 1000 &); echo all; wait");
    EXPECT_EQ(printed(), "all\n");
    const auto tree = descendants_of(guarded_->guard(), list_processes());
    EXPECT_EQ(tree.size(), 4U);
    guarded_->kill();
    ASSERT_TRUE(run_until_gone());
    for (const ProcessFacts& process : tree) {
        EXPECT_FALSE(hold_process(process.id));
        EXPECT_THAT(*gone_, Contains(process.id.pid));
    }
}

TEST_F(AdoptedWorker, GoesWithTheGate) {
    start("exec sleep 1000");
    guarded_->abandon();
    ASSERT_TRUE(loop_.run_until([&] { return own_children().empty(); }));
    EXPECT_FALSE(hold_process(*started_));
    EXPECT_FALSE(exited_ || gone_) << "abandon() stops all callbacks";
}

TEST_F(AdoptedWorker, GoesWithItsGuard) {
    start("exec sleep 1000");
    ::kill(guarded_->guard(), SIGKILL);
    ASSERT_TRUE(run_until_gone());
    ASSERT_TRUE(exited_);
    EXPECT_EQ(exited_->how, "its guard died: killed by SIGKILL");
    EXPECT_FALSE(hold_process(*started_));
}

TEST_F(AdoptedWorker, IsNeverStartedIfNobodyTakesTheOffer) {
    {
        auto offered = guarded_->offer();
        ASSERT_TRUE(offered);
        loop_.poll();
        EXPECT_EQ(never_started_, 0) << "the guard may still come";
    }
    ASSERT_TRUE(loop_.run_until([&] { return never_started_ > 0; }));
    EXPECT_TRUE(guarded_->is_gone());
    loop_.poll();
    EXPECT_EQ(never_started_, 1);
    EXPECT_FALSE(started_ || exited_ || gone_);
}

TEST_F(AdoptedWorker, OfAnAbandonedOfferIsNotReported) {
    {
        auto offered = guarded_->offer();
        ASSERT_TRUE(offered);
        guarded_->abandon();
    }
    loop_.poll();
    EXPECT_EQ(never_started_, 0);
    EXPECT_TRUE(guarded_->is_gone());
}

TEST_F(AdoptedWorker, IsReportedEvenIfItsGuardEndedBeforeItsReportsWereRead) {
    auto offered = guarded_->offer();
    ASSERT_TRUE(offered);
    const pid_t guard = ::fork();
    if (guard == 0) become_guard(offered->theirs, "exit 5", Adopted::dead);
    offered->theirs = {};
    siginfo_t end{};
    ::waitid(P_PID, static_cast<id_t>(guard), &end, WEXITED);  // reaped like a stray
    ASSERT_TRUE(run_until_gone());
    ASSERT_TRUE(exited_);
    EXPECT_EQ(exited_->how, "exit code 5");
    EXPECT_FALSE(children_.has(guard));
}

}  // namespace
}  // namespace turnpike
