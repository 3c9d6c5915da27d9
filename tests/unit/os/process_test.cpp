#include "os/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<pid_t> pids_of(const std::vector<ProcessFacts>& processes) {
    std::vector<pid_t> pids;
    for (const ProcessFacts& process : processes) pids.push_back(process.id.pid);
    return pids;
}

ProcessFacts facts(pid_t pid, pid_t parent) { return {.id = {.pid = pid}, .parent = parent}; }

TEST(Process, IsReadWhateverItsName) {
    const pid_t pid = ::getpid();
    std::array<char, 16> before{};
    ::prctl(PR_GET_NAME, before.data());
    ::prctl(PR_SET_NAME, ") R 1 (x) ");
    const auto self = read_process(pid);
    ::prctl(PR_SET_NAME, before.data());
    ASSERT_TRUE(self);
    EXPECT_EQ(self->name, ") R 1 (x) ");
    EXPECT_EQ(self->id.pid, pid);
    EXPECT_EQ(self->parent, ::getppid());
    EXPECT_GT(self->id.start, 0U);
}

TEST(Process, ThatDoesNotExistIsNotRead) {
    SleepingProcess sleeper;
    const pid_t pid = sleeper.pid();
    sleeper.end();
    EXPECT_FALSE(read_process(pid));
    EXPECT_THAT(command_of(pid), IsEmpty());
    EXPECT_FALSE(variable_of(pid, "WORD"));
}

TEST(Process, IsAZombieUntilItsParentWaitsForIt) {
    SleepingProcess sleeper;
    EXPECT_NE(read_process(sleeper.pid())->state, 'Z');
    EXPECT_TRUE(send_signal(sleeper.id(), SIGKILL));
    siginfo_t end{};
    ::waitid(P_PID, static_cast<id_t>(sleeper.pid()), &end, WEXITED | WNOWAIT);
    EXPECT_EQ(read_process(sleeper.pid())->state, 'Z');
    EXPECT_THAT(own_children(), Contains(sleeper.pid()));
}

TEST(Process, ShowsItsArgumentsAndItsEnvironment) {
    const SleepingProcess sleeper({"WORD=a b", "WORDS=2", "EMPTY="});
    EXPECT_EQ(command_of(sleeper.pid()), "sleep 1000");
    EXPECT_EQ(command_of(sleeper.pid(), 3), "sle");
    EXPECT_EQ(variable_of(sleeper.pid(), "WORD"), "a b");
    EXPECT_EQ(variable_of(sleeper.pid(), "WORDS"), "2");
    EXPECT_EQ(variable_of(sleeper.pid(), "EMPTY"), "");
    EXPECT_FALSE(variable_of(sleeper.pid(), "WOR"));
}

TEST(Process, WithAnotherStartTimeIsAnotherProcessAndGetsNoSignal) {
    const SleepingProcess sleeper;
    for (const std::uint64_t start : {sleeper.id().start - 1, sleeper.id().start + 1}) {
        EXPECT_FALSE(hold_process({.pid = sleeper.pid(), .start = start}));
        EXPECT_FALSE(send_signal(ProcessId{.pid = sleeper.pid(), .start = start}, SIGKILL));
    }
    EXPECT_FALSE(sleeper.is_killed());
    EXPECT_TRUE(send_signal(sleeper.id(), SIGCONT));
}

TEST(OwnChildren, AreThoseThatWereStartedHereAndNoOthers) {
    EXPECT_THAT(own_children(), IsEmpty());
    const SleepingProcess one;
    SleepingProcess two;
    EXPECT_THAT(own_children(), testing::UnorderedElementsAre(one.pid(), two.pid()));
    two.end();
    EXPECT_THAT(own_children(), ElementsAre(one.pid()));
}

TEST(Descendants, AreFoundThroughAllGenerations) {
    const std::vector<ProcessFacts> all{facts(2, 1), facts(5, 3), facts(3, 2), facts(4, 2),
                                        facts(6, 5), facts(7, 1), facts(8, 7)};
    EXPECT_THAT(pids_of(descendants_of(2, all)), testing::UnorderedElementsAre(3, 4, 5, 6));
    EXPECT_THAT(descendants_of(8, all), IsEmpty());
}

TEST(Descendants, WithoutThoseBelowAnException) {
    const std::vector<ProcessFacts> all{facts(2, 1), facts(3, 2), facts(4, 3), facts(5, 2)};
    EXPECT_THAT(pids_of(descendants_of(2, all, std::array{3})), ElementsAre(5));
}

TEST(Descendants, OfThisProcessAreInTheList) {
    const SleepingProcess sleeper;
    EXPECT_THAT(pids_of(descendants_of(::getpid(), list_processes())), Contains(sleeper.pid()));
    EXPECT_THAT(pids_of(descendants_of(sleeper.pid(), list_processes())),
                Not(Contains(::getpid())));
}

TEST(ExitStatus, HasWords) {
    EXPECT_EQ(words_for({.code = CLD_EXITED, .status = 3}), "exit code 3");
    EXPECT_EQ(words_for({.code = CLD_EXITED, .status = 137}), "exit code 137 (SIGKILL)");
    EXPECT_EQ(words_for({.code = CLD_KILLED, .status = SIGKILL}), "killed by SIGKILL");
    EXPECT_EQ(words_for({.code = CLD_DUMPED, .status = SIGSEGV}),
              "killed by SIGSEGV (core dumped)");
    EXPECT_EQ(words_for({.code = CLD_KILLED, .status = 40}), "killed by signal 40");
}

}  // namespace
}  // namespace turnpike
