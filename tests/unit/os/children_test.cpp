#include "os/children.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>

#include "os/spawn.h"
#include "tests/unit/loop.h"
#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

pid_t start_shell(const std::string& script) {
    return spawn({.program = "/bin/sh",
                  .arguments = {"sh", "-c", script},
                  .environment = {},
                  .descriptors = {0, 1, 2}})
        .value();
}

/// Waits until the process has ended, without reaping it.
void wait_for_end(pid_t pid) {
    siginfo_t end{};
    ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT);
}

class ChildrenOfATest : public testing::Test {
protected:
    ~ChildrenOfATest() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

    Children& children() {
        if (!children_) children_.emplace(loop_.context());
        return *children_;
    }
    void watch(pid_t pid) {
        children().watch(pid, [this, pid](const ExitStatus& exit) { ended_[pid] = exit; });
    }
    [[nodiscard]] bool run_until_ended(pid_t pid) {
        return loop_.run_until([&] { return ended_.contains(pid); });
    }
    /// Ends the strays and returns their pids once all of them are gone.
    std::vector<pid_t> end_strays() {
        std::optional<std::vector<pid_t>> strays;
        children().end_strays({.gone = [&](std::vector<pid_t> pids) { strays = std::move(pids); },
                               .stuck = [](const std::string& who) { ADD_FAILURE() << who; }});
        EXPECT_TRUE(loop_.run_until([&] { return strays.has_value(); }));
        return strays.value_or(std::vector<pid_t>{});
    }
    /// Runs a program that ends and leaves `count` processes behind, which become children of this
    /// process.
    void leave_behind(const std::string& script, std::size_t count) {
        const std::size_t before = own_children().size();
        const pid_t pid = start_shell(script);
        watch(pid);
        EXPECT_TRUE(run_until_ended(pid));
        EXPECT_EQ(own_children().size(), before + count);
    }

    TestLoop loop_;
    std::map<pid_t, ExitStatus> ended_;

private:
    std::optional<Children> children_;
};

TEST_F(ChildrenOfATest, AreReportedWhenTheyEnd) {
    children();
    const SleepingProcess sleeper;
    const pid_t exits = start_shell("exit 3");
    for (const pid_t pid : {sleeper.pid(), exits}) watch(pid);
    ASSERT_TRUE(run_until_ended(exits));
    EXPECT_EQ(ended_[exits].code, CLD_EXITED);
    EXPECT_EQ(ended_[exits].status, 3);
    EXPECT_FALSE(children().has(exits));
    EXPECT_TRUE(children().has(sleeper.pid()));
    EXPECT_FALSE(ended_.contains(sleeper.pid()));
    ASSERT_TRUE(send_signal(sleeper.id(), SIGKILL));
    ASSERT_TRUE(run_until_ended(sleeper.pid()));
    EXPECT_EQ(ended_[sleeper.pid()].code, CLD_KILLED);
    EXPECT_EQ(ended_[sleeper.pid()].status, SIGKILL);
}

TEST_F(ChildrenOfATest, AreReportedEvenIfTheyEndedBeforeTheyWereWatched) {
    children();
    const pid_t quick = start_shell("exit 4");
    wait_for_end(quick);
    watch(quick);
    ASSERT_TRUE(run_until_ended(quick));
    EXPECT_EQ(ended_[quick].status, 4);
}

TEST_F(ChildrenOfATest, ThatWereReapedAsStraysAreReportedWithoutAnExitStatus) {
    children();
    const pid_t quick = start_shell("exit 4");
    ASSERT_TRUE(loop_.run_until([] { return own_children().empty(); }));
    watch(quick);
    ASSERT_TRUE(run_until_ended(quick));
    EXPECT_EQ(ended_[quick].code, 0);
    EXPECT_FALSE(children().has(quick));
}

TEST_F(ChildrenOfATest, DoNotWaitForAProcessThatIsNotAChild) {
    const pid_t nobody_of_ours = ::getppid();
    watch(nobody_of_ours);
    ASSERT_TRUE(run_until_ended(nobody_of_ours));
    EXPECT_FALSE(children().has(nobody_of_ours));
}

TEST_F(ChildrenOfATest, AreNotStraysIfTheyAreKnown) {
    const SleepingProcess from_before;
    children();
    const SleepingProcess watched;
    watch(watched.pid());
    EXPECT_THAT(end_strays(), IsEmpty());
    EXPECT_FALSE(from_before.is_killed());
    EXPECT_FALSE(watched.is_killed());
}

TEST_F(ChildrenOfATest, StraysAreEndedAndNoOtherProcesses) {
    const SleepingProcess from_before;
    children();
    const SleepingProcess watched;
    watch(watched.pid());
    leave_behind("sleep 1000 & trap '' TERM HUP; (setsid sleep 1000 &) & wait $!", 2);
    std::vector<pid_t> strays;
    for (const pid_t pid : own_children())
        if (pid != from_before.pid() && pid != watched.pid()) strays.push_back(pid);
    EXPECT_THAT(end_strays(), UnorderedElementsAreArray(strays));
    EXPECT_EQ(own_children().size(), 2U);
    EXPECT_FALSE(from_before.is_killed());
    EXPECT_FALSE(watched.is_killed());
    EXPECT_FALSE(ended_.contains(watched.pid()));
}

TEST_F(ChildrenOfATest, StraysAreEndedWithEverythingThatTheyStarted) {
    children();
    leave_behind("(sh -c 'sleep 1000 & sleep 1000 & wait' &)", 1);
    const pid_t stray = own_children().front();
    while (descendants_of(stray, list_processes()).size() < 2) ::sched_yield();
    const std::vector<ProcessFacts> below = descendants_of(stray, list_processes());
    EXPECT_THAT(end_strays(), testing::Contains(stray));
    EXPECT_THAT(own_children(), IsEmpty());
    for (const ProcessFacts& process : below) EXPECT_FALSE(hold_process(process.id));
}

TEST_F(ChildrenOfATest, StraysAreNotTakenForGoneWhileProcessesCannotBeListed) {
    children();
    leave_behind("(sleep 1000 &)", 1);
    const pid_t stray = own_children().front();
    std::optional<std::vector<pid_t>> strays;
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit none = before;
    none.rlim_cur = static_cast<rlim_t>(UniqueFd(::open("/", O_RDONLY | O_CLOEXEC)).get());
    ::setrlimit(RLIMIT_NOFILE, &none);
    children().end_strays({.gone = [&](std::vector<pid_t> pids) { strays = std::move(pids); },
                           .stuck = [](const std::string& who) { ADD_FAILURE() << who; }});
    for (int chase = 0; chase < 3 && !strays; ++chase) loop_.context().run_one();
    ::setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_FALSE(strays);
    EXPECT_TRUE(loop_.run_until([&] { return strays.has_value(); }));
    EXPECT_THAT(strays.value_or(std::vector<pid_t>{}), testing::Contains(stray));
    EXPECT_THAT(own_children(), IsEmpty());
}

TEST_F(ChildrenOfATest, StraysThatEndedByThemselvesAreReported) {
    children();
    leave_behind("(sleep 1000 &)", 1);
    const pid_t stray = own_children().front();
    ::kill(stray, SIGTERM);
    wait_for_end(stray);
    EXPECT_THAT(end_strays(), testing::ElementsAre(stray));
}

}  // namespace
}  // namespace turnpike
