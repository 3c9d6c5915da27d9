#include "os/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/file.h"
#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

using testing::ElementsAre;

struct Outcome {
    std::string output;  // what it wrote to descriptor 1
    int status = 0;      // as waitpid() gives it
};

/// Runs a program to its end. `more` become its descriptors 3, 4 …
Outcome run(std::vector<std::string> arguments, std::vector<std::string> environment = {},
            std::vector<int> more = {}) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    std::vector<int> descriptors{0, writing.get(), 2};
    descriptors.insert(descriptors.end(), more.begin(), more.end());
    const auto pid = spawn({.program = arguments.front(),
                            .arguments = arguments,
                            .environment = std::move(environment),
                            .descriptors = descriptors});
    if (!pid) throw std::runtime_error("it could not be started");
    writing = UniqueFd();
    Outcome outcome;
    std::array<char, 4096> bytes{};
    while (true) {
        const ssize_t size = ::read(reading.get(), bytes.data(), bytes.size());
        if (size <= 0) break;
        outcome.output.append(bytes.data(), static_cast<std::size_t>(size));
    }
    ::waitpid(*pid, &outcome.status, 0);
    return outcome;
}

Outcome run_shell(const std::string& script, std::vector<int> more = {}) {
    return run({"/bin/sh", "-c", script}, {}, std::move(more));
}

TEST(Spawn, GivesArgumentsAndExitCode) {
    const Outcome outcome = run({"/bin/sh", "-c", "echo \"$0|$1|$2\"; exit 7", "a b", "", "*"});
    EXPECT_EQ(outcome.output, "a b||*\n");
    EXPECT_TRUE(WIFEXITED(outcome.status));
    EXPECT_EQ(WEXITSTATUS(outcome.status), 7);
}

TEST(Spawn, FindsAProgramInThePathAndGivesItThatEnvironmentAlone) {
    EXPECT_EQ(run({"env"}, {"A=1", "B=two words", "C="}).output, "A=1\nB=two words\nC=\n");
}

TEST(Spawn, GivesTheNamedDescriptorsAndNoOthers) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);  // these are not closed by exec
    const UniqueFd reading(ends[0]);
    const UniqueFd writing(ends[1]);
    ASSERT_EQ(::write(writing.get(), "word\n", 5), 5);
    const UniqueFd high(::fcntl(writing.get(), F_DUPFD, 50));
    const std::string number = std::to_string(high.get());
    const Outcome outcome = run_shell(
        "read word <&3; echo $word; [ -e /proc/self/fd/4 ] && echo four; "
        "[ -e /proc/self/fd/" +
            number + " ] && echo high",
        {reading.get()});
    EXPECT_EQ(outcome.output, "word\n");
}

TEST(Spawn, GivesASessionAndAGroupOfItsOwn) {
    const SleepingProcess sleeper;
    EXPECT_EQ(::getsid(sleeper.pid()), sleeper.pid());
    EXPECT_EQ(::getpgid(sleeper.pid()), sleeper.pid());
}

TEST(Spawn, GivesSignalsAsTheyAreByDefault) {
    sigset_t blocked{};
    sigset_t before{};
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    auto* const ignored = std::signal(SIGHUP, SIG_IGN);
    const Outcome terminated = run_shell("kill -TERM $$; exit 3");
    const Outcome hung_up = run_shell("kill -HUP $$; exit 3");
    std::signal(SIGHUP, ignored);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_TRUE(WIFSIGNALED(terminated.status) && WTERMSIG(terminated.status) == SIGTERM);
    EXPECT_TRUE(WIFSIGNALED(hung_up.status) && WTERMSIG(hung_up.status) == SIGHUP);
}

TEST(Spawn, OfSomethingThatIsNotAProgramIsAnError) {
    const auto error_of = [](const std::string& program) {
        return spawn({.program = program,
                      .arguments = {program},
                      .environment = {},
                      .descriptors = {0, 1, 2}});
    };
    EXPECT_EQ(error_of("/nowhere/program"), std::unexpected(ENOENT));
    EXPECT_EQ(error_of("turnpike-is-no-such-program"), std::unexpected(ENOENT));
    EXPECT_EQ(error_of("/"), std::unexpected(EACCES));
}

TEST(Spawn, WithADescriptorThatIsNotOpenIsAnError) {
    EXPECT_EQ(spawn({.program = "/bin/true",
                     .arguments = {"true"},
                     .environment = {},
                     .descriptors = {0, 1, 2, 987}}),
              std::unexpected(EBADF));
}

TEST(Variable, ReplacesItsOldValue) {
    std::vector<std::string> environment{"A=1", "AB=2", "A=again", "ODD"};
    set_variable(environment, "A", "3=4");
    EXPECT_THAT(environment, ElementsAre("AB=2", "ODD", "A=3=4"));
    set_variable(environment, "NEW", "");
    EXPECT_THAT(environment, ElementsAre("AB=2", "ODD", "A=3=4", "NEW="));
}

TEST(Variable, IsFoundByItsWholeName) {
    const std::vector<std::string> environment{"AB=2", "ODD", "EMPTY="};
    EXPECT_TRUE(has_variable(environment, "AB"));
    EXPECT_TRUE(has_variable(environment, "EMPTY"));
    for (const char* name : {"A", "B", "ABC", "ODD", "AB=2", ""})
        EXPECT_FALSE(has_variable(environment, name)) << name;
}

TEST(OwnEnvironment, IsThatOfThisProcess) {
    ASSERT_EQ(::setenv("TURNPIKE_TEST_WORD", "a=b", 1), 0);
    EXPECT_THAT(own_environment(), testing::Contains("TURNPIKE_TEST_WORD=a=b"));
    ::unsetenv("TURNPIKE_TEST_WORD");
    EXPECT_FALSE(has_variable(own_environment(), "TURNPIKE_TEST_WORD"));
}

}  // namespace
}  // namespace turnpike
