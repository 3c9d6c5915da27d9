#include "cli/running_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const RunningGate blue{.name = "blue", .pid = 11, .folder = "/run/blue", .socket = {}};
const RunningGate green{.name = "green", .pid = 12, .folder = "/run/green", .socket = {}};

TEST(GateChoice, TakesTheOnlyGate) { EXPECT_EQ(choose_gate({blue}, std::nullopt).value().pid, 11); }

TEST(GateChoice, TakesTheOneThatWasNamed) {
    EXPECT_EQ(choose_gate({blue, green}, "green").value().pid, 12);
}

TEST(GateChoice, ListsThemIfThereAreSeveral) {
    const CommandError trouble = choose_gate({blue, green}, std::nullopt).error();
    EXPECT_EQ(trouble.exit_code, exit_usage);
    EXPECT_THAT(trouble.message,
                AllOf(HasSubstr("--name blue    (pid 11)"), HasSubstr("--name green    (pid 12)")));
}

TEST(GateChoice, SaysHowToStartIfNothingRuns) {
    for (const std::optional<std::string>& name : {std::optional<std::string>(), {"blue"}}) {
        const CommandError trouble = choose_gate({}, name).error();
        EXPECT_EQ(trouble.exit_code, exit_nothing_runs);
        EXPECT_THAT(trouble.message, HasSubstr("no gate is running; start one with: turnpike up"));
    }
}

TEST(GateChoice, SaysWhatRunsInsteadOfTheNamedOne) {
    const CommandError trouble = choose_gate({blue}, "red").error();
    EXPECT_EQ(trouble.exit_code, exit_nothing_runs);
    EXPECT_THAT(trouble.message, AllOf(HasSubstr("red"), HasSubstr("--name blue")));
}

TEST(ProblemText, IsTitleDetailAndAdvice) {
    EXPECT_EQ(
        problem_text({.status = 404, .body = R"({"type":"urn:x","title":"No job.","status":404,
                                        "detail":"It was abc.","next":"List them."})"}),
        "No job. It was abc. List them.");
    EXPECT_EQ(problem_text({.status = 404, .body = R"({"title":"No job.","next":"List them."})"}),
              "No job. List them.");
    EXPECT_EQ(problem_text({.status = 409, .body = R"({"title":"No.","detail":"why not",
                                        "next":"Try."})"}),
              "No. why not. Try.");
}

TEST(ProblemText, IsTheStatusIfThereAreNoWords) {
    EXPECT_EQ(problem_text({.status = 500, .body = "oops"}), "the gate answered with status 500");
    EXPECT_EQ(problem_text({.status = 500, .body = "{}"}), "the gate answered with status 500");
}

}  // namespace
}  // namespace turnpike
