#include "cli/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "terminal/reload_text.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string line_of(const std::string& json) {
    return reload_line(boost::json::parse(json).as_object());
}

/// Returns a /-/status of one pool with this reload.
std::string status(const std::string& reload) {
    return R"({"pools":[{"pool":"other","reload":null},{"pool":"chat","reload":)" + reload + "}]}";
}

ReloadsSeen seen(const std::string& reload, std::uint64_t generation = 4) {
    return reloads_seen({{"chat", generation}}, status(reload)).value();
}

TEST(ReloadText, IsALineForEachState) {
    const std::string rest =
        R"("why":"model.py changed","took_s":0.9,"lanes":4,"lanes_switched":2})";
    EXPECT_EQ(line_of(R"({"generation":4,"state":"done",)" + rest),
              "reload 4 (model.py changed): 2 of 4 lanes on the new code after 900 ms");
    EXPECT_EQ(
        line_of(R"({"generation":4,"state":"done","why":"asked for","took_s":0.9,"lanes":0})"),
        "reload 4 (asked for): done after 900 ms, but every lane is off");
    EXPECT_EQ(line_of(R"({"generation":4,"state":"spreading",)" + rest),
              "reload 4 (model.py changed): 2 of 4 lanes on the new code, for 900 ms");
    EXPECT_EQ(line_of(R"({"generation":4,"state":"abandoned",)" + rest),
              "reload 4 (model.py changed): failed after 900 ms; the old code keeps serving");
    EXPECT_THAT(line_of(R"({"generation":4,"state":"waiting",)" + rest), HasSubstr("waiting"));
    EXPECT_EQ(line_of("{}"), "");
}

TEST(ReloadText, TamesEachLineOfTheError) {
    EXPECT_EQ(reload_error(boost::json::parse("{\"trouble\":\"a\\u001b[31m\\n  b\"}").as_object()),
              "    a?[31m\n      b\n");
    EXPECT_EQ(reload_error(boost::json::parse(R"({"trouble":null})").as_object()), "");
}

TEST(ReloadCommand, KnowsWhatWasAskedOfOnePoolAndOfAll) {
    EXPECT_THAT(reloads_asked(R"({"pool":"chat","generation":4,"kind":"beside"})").value(),
                ElementsAre(Pair("chat", 4)));
    EXPECT_THAT(reloads_asked(R"({"asked":"reload","pools":[{"pool":"a","generation":2},
                                 {"pool":"b","generation":3}]})")
                    .value(),
                ElementsAre(Pair("a", 2), Pair("b", 3)));
    EXPECT_FALSE(reloads_asked("nonsense"));
}

TEST(ReloadCommand, IsOverWhenEveryLaneHasTheNewCodeOrTheOldOneGoesOn) {
    EXPECT_FALSE(seen(R"({"generation":4,"state":"trying"})").is_over);
    EXPECT_FALSE(seen(R"({"generation":4,"state":"spreading"})").is_over);
    const ReloadsSeen done = seen(R"({"generation":4,"state":"done"})");
    EXPECT_TRUE(done.is_over && done.is_good);
    const ReloadsSeen failed = seen(R"({"generation":4,"state":"abandoned","trouble":"x"})");
    EXPECT_TRUE(failed.is_over);
    EXPECT_FALSE(failed.is_good);
    EXPECT_EQ(failed.errors, "    x\n");
    EXPECT_THAT(failed.json, HasSubstr(R"("pool":"chat")"));
}

TEST(ReloadCommand, DoesNotWaitForLanesThatAreOff) {
    EXPECT_FALSE(seen(R"({"generation":4,"state":"waiting","lanes":1})").is_over);
    const ReloadsSeen stuck = seen(R"({"generation":4,"state":"waiting","lanes":0})");
    EXPECT_TRUE(stuck.is_over);
    EXPECT_FALSE(stuck.is_good);
    EXPECT_THAT(stuck.lines, HasSubstr("turnpike restart LANE"));
}

TEST(ReloadCommand, FollowsANewerOneOfTheSamePool) {
    EXPECT_FALSE(seen(R"({"generation":5,"state":"trying"})").is_over);
    EXPECT_TRUE(seen(R"({"generation":5,"state":"done"})").is_good);
}

TEST(ReloadCommand, NoticesThatTheGateWasStartedAnew) {
    EXPECT_FALSE(reloads_seen({{"chat", 4}}, status("null")));
    EXPECT_FALSE(reloads_seen({{"chat", 4}}, status(R"({"generation":2,"state":"done"})")));
}

}  // namespace
}  // namespace turnpike
