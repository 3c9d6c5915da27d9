#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace turnpike {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

template <class C>
C parsed(const Words& words) {
    const auto command = parse_command_line(words);
    if (!command) throw std::runtime_error("refused: " + command.error().err);
    return std::get<C>(*command);
}

EarlyExit early_exit(const Words& words) {
    const auto command = parse_command_line(words);
    return command ? EarlyExit{.exit_code = -1, .out = "", .err = "a command"} : command.error();
}

TEST(CommandLine, TakesEveryFlagOfUp) {
    const auto up = parsed<UpCommand>({"up", "conf.toml", "--attach", "http://a:1", "--attach",
                                       "http://b:2", "--host", "0.0.0.0", "--port", "0", "--slots",
                                       "8", "--log-jobs", "-", "--log-starts", "--name", "blue"});
    EXPECT_EQ(up.config, "conf.toml");
    EXPECT_THAT(up.flags.attach, ElementsAre("http://a:1", "http://b:2"));
    EXPECT_EQ(up.flags.host, "0.0.0.0");
    EXPECT_EQ(up.flags.port, 0);
    EXPECT_EQ(up.flags.slots, 8U);
    EXPECT_EQ(up.flags.log_jobs, "-");
    EXPECT_TRUE(up.flags.log_starts);
    EXPECT_EQ(up.name, "blue");
}

TEST(CommandLine, TakesACommandForTheLanesOfUp) {
    const auto up = parsed<UpCommand>({"up", "--worker", "uvicorn app:app --port {port}", "--gpus",
                                       "0,2", "--gpus-per-lane", "2", "--lanes", "3", "conf.toml"});
    EXPECT_EQ(up.flags.worker, "uvicorn app:app --port {port}");
    EXPECT_EQ(up.flags.gpus, "0,2");
    EXPECT_EQ(up.flags.gpus_per_lane, 2U);
    EXPECT_EQ(up.flags.lanes, 3U);
    EXPECT_EQ(up.config, "conf.toml");
    EXPECT_EQ(early_exit({"up", "--lanes", "-1"}).exit_code, exit_usage);
}

TEST(CommandLine, TakesAModelBesideTheFlagsOfUp) {
    const auto up = parsed<UpCommand>(
        {"up", "model.py:Digits", "--python", "env/bin/python", "--lanes", "2", "--gpus", "none"});
    EXPECT_EQ(up.config, "model.py:Digits");
    EXPECT_EQ(up.flags.python, "env/bin/python");
    EXPECT_EQ(up.flags.lanes, 2U);
    EXPECT_EQ(up.flags.gpus, "none");
}

TEST(CommandLine, LeavesWhatIsNotSaidToTheConfiguration) {
    const auto up = parsed<UpCommand>({"up"});
    EXPECT_EQ(up.config, std::nullopt);
    EXPECT_THAT(up.flags.attach, IsEmpty());
    EXPECT_EQ(up.flags.worker, std::nullopt);
    EXPECT_EQ(up.flags.python, std::nullopt);
    EXPECT_EQ(up.flags.gpus, std::nullopt);
    EXPECT_EQ(up.flags.gpus_per_lane, std::nullopt);
    EXPECT_EQ(up.flags.lanes, std::nullopt);
    EXPECT_EQ(up.flags.host, std::nullopt);
    EXPECT_EQ(up.flags.port, std::nullopt);
    EXPECT_EQ(up.flags.slots, std::nullopt);
    EXPECT_EQ(up.flags.log_jobs, std::nullopt);
    EXPECT_FALSE(up.flags.log_starts);
    EXPECT_EQ(up.name, "default");
}

TEST(CommandLine, DoesNotTakeTheConfigForASecondUrl) {
    const auto up = parsed<UpCommand>({"up", "--attach", "http://a:1", "conf.toml"});
    EXPECT_EQ(up.config, "conf.toml");
    EXPECT_THAT(up.flags.attach, ElementsAre("http://a:1"));
}

TEST(CommandLine, GivesCheckTheFlagsOfUp) {
    const auto check = parsed<CheckCommand>({"check", "--attach", "http://a:1", "--port", "9"});
    EXPECT_THAT(check.flags.attach, ElementsAre("http://a:1"));
    EXPECT_EQ(check.flags.port, 9);
    EXPECT_EQ(parsed<CheckCommand>({"check", "--worker", "x {port}"}).flags.worker, "x {port}");
    EXPECT_FALSE(check.example);
    EXPECT_TRUE(parsed<CheckCommand>({"check", "--example"}).example);
}

TEST(CommandLine, NamesTheGateOfStatusJobsAndCancel) {
    EXPECT_EQ(parsed<StatusCommand>({"status", "--name", "blue"}).gate, "blue");
    EXPECT_EQ(parsed<StatusCommand>({"status"}).gate, std::nullopt);
    EXPECT_EQ(parsed<JobsCommand>({"jobs", "--name=blue"}).gate, "blue");
    const auto cancel = parsed<CancelCommand>({"cancel", "abc", "--name", "blue"});
    EXPECT_EQ(cancel.gate, "blue");
    EXPECT_EQ(cancel.job, "abc");
}

TEST(CommandLine, TakesJsonWhereFactsArePrinted) {
    EXPECT_TRUE(parsed<StatusCommand>({"status", "--json"}).json);
    EXPECT_TRUE(parsed<JobsCommand>({"jobs", "--json"}).json);
    EXPECT_TRUE(parsed<CancelCommand>({"cancel", "abc", "--json"}).json);
    EXPECT_TRUE(parsed<KeyListCommand>({"key", "list", "--json"}).json);
    EXPECT_TRUE(parsed<CheckCommand>({"check", "--json"}).json);
    EXPECT_TRUE(parsed<VersionCommand>({"version", "--json"}).json);
    EXPECT_FALSE(parsed<VersionCommand>({"version"}).json);
}

TEST(CommandLine, MakesPlainKeysUnlessAskedForAnother) {
    EXPECT_EQ(parsed<KeyNewCommand>({"key", "new", "bob"}).access, Access::plain);
    const auto admin = parsed<KeyNewCommand>({"key", "new", "--admin", "eve"});
    EXPECT_EQ(admin.access, Access::admin);
    EXPECT_EQ(admin.name, "eve");
    EXPECT_EQ(parsed<KeyRevokeCommand>({"key", "revoke", "bob"}).name, "bob");
}

TEST(CommandLine, TakesTheLimitsOfAKey) {
    EXPECT_EQ(parsed<KeyNewCommand>({"key", "new", "bob"}).limits, KeyLimits{});
    const auto limited =
        parsed<KeyNewCommand>({"key", "new", "bob", "--jobs-max", "20", "--bytes-max=256MiB",
                               "--rate", "90/min", "--priority-max", "9"});
    EXPECT_EQ(limited.name, "bob");
    EXPECT_EQ(limited.limits, (KeyLimits{.jobs_max = 20,
                                         .bytes_max = Bytes{256 * mebibyte.count},
                                         .rate = Rate{.jobs = 90, .per = 1min},
                                         .priority_max = Priority{9}}));
}

TEST(CommandLine, RefusesLimitsOutOfBounds) {
    for (const Words& words :
         {Words{"--jobs-max", "0"}, Words{"--jobs-max", "many"}, Words{"--bytes-max", "1"},
          Words{"--rate", "5/h"}, Words{"--rate="}, Words{"--priority-max", "10"}}) {
        Words all{"key", "new", "bob"};
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(early_exit(all).exit_code, exit_usage) << words.front();
    }
    EXPECT_EQ(early_exit({"key", "new", "bob", "--jobs-max", "0"}).err,
              "turnpike: --jobs-max: 0 must be a number from 1 to 1000000\n"
              "See: turnpike key new --help\n");
}

TEST(CommandLine, TakesTheFlagsOfLogs) {
    const auto plain = parsed<LogsCommand>({"logs"});
    EXPECT_EQ(plain.lane, std::nullopt);
    EXPECT_EQ(plain.lines, 200U);
    EXPECT_FALSE(plain.follow || plain.json);
    const auto logs =
        parsed<LogsCommand>({"logs", "3", "-f", "--lines", "5", "--json", "--name", "blue"});
    EXPECT_EQ(logs.lane, "3");
    EXPECT_EQ(logs.lines, 5U);
    EXPECT_TRUE(logs.follow && logs.json);
    EXPECT_EQ(logs.gate, "blue");
}

TEST(CommandLine, TakesTheNameOfACrash) {
    EXPECT_EQ(parsed<CrashesCommand>({"crashes"}).id, std::nullopt);
    EXPECT_EQ(parsed<CrashesCommand>({"crashes", "20261115-1", "--json"}).id, "20261115-1");
    EXPECT_TRUE(parsed<CrashesCommand>({"crashes", "20261115-1", "--json"}).json);
}

TEST(CommandLine, LetsAKeyAndAConfigBeCalledLikeACommand) {
    EXPECT_EQ(parsed<KeyNewCommand>({"key", "new", "status"}).name, "status");
    EXPECT_EQ(parsed<KeyNewCommand>({"key", "new", "list"}).name, "list");
    EXPECT_EQ(parsed<UpCommand>({"up", "jobs"}).config, "jobs");
}

TEST(CommandLine, SaysHelpOnStderrIfThereIsNoCommand) {
    const EarlyExit nothing = early_exit({});
    EXPECT_EQ(nothing.exit_code, exit_usage);
    EXPECT_THAT(nothing.out, IsEmpty());
    EXPECT_THAT(nothing.err, HasSubstr("turnpike up --worker"));
}

TEST(CommandLine, SaysHelpOnStdoutIfAsked) {
    for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
        const EarlyExit help = early_exit(words);
        EXPECT_EQ(help.exit_code, exit_done);
        EXPECT_THAT(help.err, IsEmpty());
        EXPECT_THAT(help.out, HasSubstr("Exit codes: 0 done"));
    }
}

TEST(CommandLine, HasAnExampleInTheHelpOfEveryCommand) {
    for (const Words& words :
         {Words{"up"}, Words{"check"}, Words{"status"}, Words{"jobs"}, Words{"cancel"},
          Words{"logs"}, Words{"crashes"}, Words{"restart"}, Words{"drain"}, Words{"resume"},
          Words{"prove"}, Words{"stacks"}, Words{"down"}, Words{"doctor"}, Words{"key"},
          Words{"key", "new"}, Words{"key", "list"}, Words{"key", "revoke"}, Words{"version"}}) {
        Words asked = words;
        asked.emplace_back("--help");
        const EarlyExit help = early_exit(asked);
        EXPECT_EQ(help.exit_code, exit_done) << words.back();
        EXPECT_THAT(help.out, AllOf(HasSubstr("Example:\n"), HasSubstr("turnpike " + words[0])));
        asked.pop_back();
        asked.insert(asked.begin(), "help");
        EXPECT_EQ(early_exit(asked).out, help.out);
    }
}

TEST(CommandLine, SaysItsVersion) {
    EXPECT_EQ(early_exit({"--version"}).exit_code, exit_done);
    EXPECT_THAT(early_exit({"--version"}).out, testing::MatchesRegex("turnpike [0-9.]+\n"));
}

TEST(CommandLine, SaysWhichCommandWasMeant) {
    EXPECT_EQ(early_exit({"statsu"}).err,
              "turnpike: there is no command \"statsu\"; did you mean \"status\"?\n"
              "See: turnpike --help\n");
    EXPECT_EQ(early_exit({"key", "lst"}).err,
              "turnpike: there is no command \"lst\"; did you mean \"list\"?\n"
              "See: turnpike key --help\n");
    EXPECT_THAT(early_exit({"xyzzy"}).err,
                AllOf(HasSubstr("\"xyzzy\""), Not(HasSubstr("did you"))));
    EXPECT_THAT(early_exit({"help", "xyzzy"}).err, HasSubstr("no command \"xyzzy\""));
}

TEST(CommandLine, SaysWhichFlagWasMeant) {
    EXPECT_EQ(early_exit({"up", "--atach", "http://a:1"}).err,
              "turnpike: \"--atach\" is not a flag of this command; did you mean \"--attach\"?\n"
              "See: turnpike up --help\n");
    EXPECT_EQ(early_exit({"status", "jobs"}).err,
              "turnpike: \"jobs\" is not expected here\nSee: turnpike status --help\n");
    EXPECT_THAT(early_exit({"key", "list", "--x"}).err, HasSubstr("See: turnpike key list --help"));
    EXPECT_THAT(early_exit({"--name", "blue", "status"}).err,
                HasSubstr("\"--name\" is not a flag"));
}

TEST(CommandLine, TakesTheOrders) {
    const auto restart = parsed<RestartCommand>({"restart", "all", "--name", "blue", "--json"});
    EXPECT_EQ(restart.what, "all");
    EXPECT_EQ(restart.gate, "blue");
    EXPECT_TRUE(restart.json);
    EXPECT_EQ(parsed<DrainCommand>({"drain", "0"}).lane, "0");
    EXPECT_EQ(parsed<ResumeCommand>({"resume", "1"}).lane, "1");
    EXPECT_EQ(parsed<StacksCommand>({"stacks", "2"}).lane, "2");
    EXPECT_EQ(parsed<ProveCommand>({"prove"}).pool, std::nullopt);
    EXPECT_EQ(parsed<ProveCommand>({"prove", "chat"}).pool, "chat");
    EXPECT_FALSE(parsed<DownCommand>({"down"}).now);
    EXPECT_TRUE(parsed<DownCommand>({"down", "--now"}).now);
}

TEST(CommandLine, KeepsTheWordsOfUpForADetachedGate) {
    const Words words{"up", "conf.toml", "--detach", "--port", "0"};
    const auto up = parsed<UpCommand>(words);
    EXPECT_TRUE(up.detach);
    EXPECT_EQ(up.ready_fd, std::nullopt);
    EXPECT_EQ(up.words, words);
    EXPECT_EQ(parsed<UpCommand>({"up", "--ready-fd=5", "--detach"}).ready_fd, 5);
    EXPECT_THAT(early_exit({"up", "--help"}).out,
                AllOf(HasSubstr("--detach"), Not(HasSubstr("ready"))));
}

TEST(CommandLine, SendsNoEscapesToTheTerminal) {
    EXPECT_THAT(early_exit({"\x1b[31m"}).err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(early_exit({"status", "--\x1b[31m"}).err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(early_exit({"up", "--port", "\x1b[31m"}).err, Not(HasSubstr("\x1b")));
}

TEST(CommandLine, ExitsWithTwoWhateverIsWrong) {
    for (const Words& words : {Words{"statsu"},
                               Words{"-x"},
                               Words{"status", "--foo"},
                               Words{"up", "a.toml", "b.toml"},
                               Words{"up", "--port", "65536"},
                               Words{"up", "--port", "-1"},
                               Words{"up", "--port", "http"},
                               Words{"up", "--port"},
                               Words{"up", "--slots", "-1"},
                               Words{"up", "--slots", "4294967296"},
                               Words{"up", "--slots", "1.5"},
                               Words{"up", "--attach"},
                               Words{"up", "--host", "a", "--host", "b"},
                               Words{"cancel"},
                               Words{"cancel", "a", "b"},
                               Words{"restart"},
                               Words{"restart", "0", "1"},
                               Words{"drain"},
                               Words{"resume"},
                               Words{"stacks"},
                               Words{"prove", "a", "b"},
                               Words{"down", "default"},
                               Words{"key"},
                               Words{"key", "new"},
                               Words{"key", "revoke"},
                               Words{"key", "--json"},
                               Words{"jobs", "--last", "many"},
                               Words{"logs", "0", "1"},
                               Words{"logs", "--lines", "2001"},
                               Words{"crashes", "a", "b"},
                               Words{"version", "--jsn"},
                               Words{""},

                               Words{"--"}}) {
        const EarlyExit wrong = early_exit(words);
        EXPECT_EQ(wrong.exit_code, exit_usage) << testing::PrintToString(words);
        EXPECT_THAT(wrong.out, IsEmpty());
        EXPECT_THAT(wrong.err, Not(IsEmpty()));
    }
}

TEST(CommandLine, RefusesBadNamesOfGates) {
    for (const Words& command :
         {Words{"up"}, Words{"status"}, Words{"jobs"}, Words{"down"}, Words{"logs"},
          Words{"crashes"}, Words{"reload"}, Words{"restart", "0"}, Words{"drain", "0"},
          Words{"resume", "0"}, Words{"prove"}, Words{"stacks", "0"}, Words{"cancel", "x"}})
        for (const std::string name : {"", "..", "a/b", "UP", "a b"}) {
            Words words = command;
            words.push_back("--name=" + name);
            EXPECT_EQ(early_exit(words).exit_code, exit_usage) << command.front() << ' ' << name;
        }
}

}  // namespace
}  // namespace turnpike
