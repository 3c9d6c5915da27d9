#include "cli/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/down.h"
#include "cli/stacks.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string text(std::string_view json) { return order_text(json).value_or("no order"); }

TEST(Orders, GoToLanesByNumber) {
    EXPECT_EQ(lane_route("12", "drain"), "/-/lanes/12/drain");
    for (const std::string word : {"", "x", "-1", "+1", "1 ", "0x1", "1/../2", "1234567890"})
        EXPECT_EQ(lane_route(word, "drain"), std::nullopt) << word;
}

TEST(Orders, GoToPoolsByName) {
    EXPECT_EQ(pool_route("chat.v2", "restart"), "/-/pools/chat.v2/restart");
    for (const std::string word : {"", "..", "a/b", "a b", "A", "a?b", "a\r\nb"})
        EXPECT_EQ(pool_route(word, "restart"), std::nullopt) << word;
}

TEST(Orders, NameTheGateInTheirAdviceIfItWasNamed) {
    EXPECT_EQ(order_text(R"({"lane":3,"asked":"drain"})", "blue").value(),
              "lane 3 finishes its jobs and takes no more; bring it back with: turnpike resume 3 "
              "--name blue\n");
}

TEST(Orders, SayWhatFollows) {
    EXPECT_EQ(text(R"({"lane":0,"asked":"restart"})"),
              "lane 0 finishes its jobs, then starts again; see: turnpike status\n");
    EXPECT_EQ(
        text(R"({"lane":3,"asked":"drain"})"),
        "lane 3 finishes its jobs and takes no more; bring it back with: turnpike resume 3\n");
    EXPECT_EQ(text(R"({"lane":3,"asked":"resume"})"),
              "lane 3 takes jobs again when its worker serves; see: turnpike status\n");
    EXPECT_EQ(text(R"({"pool":"chat","asked":"restart","lanes":[0,2]})"),
              "pool chat: lanes 0, 2 finish their jobs, then start again; see: turnpike "
              "status\n");
    EXPECT_EQ(text(R"({"pool":"chat","asked":"restart","lanes":[1]})"),
              "pool chat: lane 1 finishes its jobs, then starts again; see: turnpike status\n");
}

TEST(Orders, RefuseATextThatIsNotAnAnswer) { EXPECT_FALSE(order_text("<html>")); }

TEST(Stacks, AreTheLinesOfTheirStream) {
    const auto found = stack_lines(R"json({"lane":0,"newest":7,"lines":[
        {"number":5,"time":"x","stream":"out","text":"hello"},
        {"number":6,"time":"x","stream":"stacks","text":"Thread 1\u001b[31m"},
        {"number":7,"time":"x","stream":"stacks","text":"  predict (a.py:3)"}]})json");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->newest, 7U);
    EXPECT_THAT(found->lines, ElementsAre("Thread 1?[31m", "  predict (a.py:3)"));
}

TEST(Stacks, AreNoneInAnEmptyLog) {
    const auto found = stack_lines(R"({"lane":0,"newest":0,"lines":[]})");
    ASSERT_TRUE(found);
    EXPECT_THAT(found->lines, IsEmpty());
    EXPECT_FALSE(stack_lines("nonsense"));
}

TEST(Down, CountsTheJobsThatAGateWaitsFor) {
    const auto ending = shutdown_state_in(R"({"shutting_down":true,"pools":[
        {"arriving":1,"queued":2,"running":3},{"arriving":0,"queued":10,"running":0}]})");
    ASSERT_TRUE(ending);
    EXPECT_TRUE(ending->has_begun);
    EXPECT_EQ(ending->jobs, 16U);
}

TEST(Down, KnowsAGateThatHasNotBegunToEnd) {
    EXPECT_FALSE(shutdown_state_in(R"({"shutting_down":false})")->has_begun);
    EXPECT_EQ(shutdown_state_in(R"({"shutting_down":false})")->jobs, 0U);
    EXPECT_EQ(shutdown_state_in("<html>"), std::nullopt);
}

}  // namespace
}  // namespace turnpike
