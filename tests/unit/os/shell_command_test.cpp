#include "os/shell_command.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(ShellCommand, OneProgramNeedsNoShellAboveIt) {
    EXPECT_EQ(without_shell("uvicorn app:app --port 8001"), "exec uvicorn app:app --port 8001");
    EXPECT_EQ(without_shell("  ./serve \"a; b\"x"), "  ./serve \"a; b\"x")
        << "it looks like a list of commands";
    EXPECT_EQ(without_shell("'my server' -p 1"), "exec 'my server' -p 1");
    EXPECT_EQ(without_shell("$HOME/serve -p 1"), "exec $HOME/serve -p 1");
}

TEST(ShellCommand, VariablesBeforeTheProgramStayBeforeIt) {
    EXPECT_EQ(without_shell("HF_HOME=~/hf A=1 prog x=y"), "HF_HOME=~/hf A=1 exec prog x=y");
    EXPECT_EQ(without_shell("A='x y' B=\"p \\\" q\" C=a\\ b prog"),
              "A='x y' B=\"p \\\" q\" C=a\\ b exec prog");
    EXPECT_EQ(without_shell("A=1 B=$A prog"), "A=1 B=$A exec prog");
}

TEST(ShellCommand, WhatIsMoreThanOneProgramIsLeftAlone) {
    for (const char* command : {"", "   ", "A=1", "cd x && prog", "a; b", "a | b", "a > b", "(a)",
                                "a\nb", "A=`b c` prog", "exec prog", "A=1 exec prog", "cd x",
                                "command prog", "time prog", ". ./env", "! a", "{ a"})
        EXPECT_EQ(without_shell(command), command);
}

TEST(ShellCommand, SurvivesUnfinishedQuotes) {
    EXPECT_EQ(without_shell("A='x prog"), "A='x prog");
    EXPECT_EQ(without_shell("prog \\"), "exec prog \\");
}

}  // namespace
}  // namespace turnpike
