#include "gate/lane_page.h"

#include <gtest/gtest.h>

#include <string>

#include <boost/json.hpp>

#include "tests/unit/gate/pages_fixture.h"

namespace turnpike {
namespace {

struct LanePage : PagesFixture {
    LanePage() : PagesFixture(Config{.pools = {PoolConfig{.name = "only"}}}) {}

    boost::json::object page(LaneView lane, std::string_view jobs = "") {
        return page(lane, admin, jobs);
    }
    boost::json::object page(LaneView lane, const Caller& caller, std::string_view jobs = "") {
        lane.lane = LaneId{0};
        lane.pool = PoolId{0};
        std::string text;
        JsonWriter json(text);
        append_lane(json, deps, lane, caller, jobs);
        boost::json::error_code error;
        const boost::json::value value = boost::json::parse(text, error);
        EXPECT_FALSE(error) << text;
        return value.is_object() ? value.get_object() : boost::json::object();
    }
};

TEST(LanePage, SaysWhenAFailedLaneTriesAgain) {
    LanePage fixture;
    LaneView lane{.state = LaneState::failed, .reason = Reason::crashed_too_often};
    EXPECT_FALSE(fixture.page(lane).contains("next_try_s"));
    lane.next_try = 252500ms;
    const boost::json::object page = fixture.page(lane);
    EXPECT_EQ(page.at("state").as_string(), "failed");
    EXPECT_EQ(page.at("reason").as_string(), "crashed_too_often");
    EXPECT_EQ(page.at("next_try_s").as_double(), 252.5);
}

TEST(LanePage, ListsTheJobsAboard) {
    LanePage fixture;
    EXPECT_TRUE(fixture.page({}).at("jobs").as_array().empty());
    EXPECT_EQ(fixture.page({}, R"({"id":"a"},{"id":"b"})").at("jobs").as_array().size(), 2U);
}

TEST(LanePage, ShowsWhatTheWorkerSaidAboutItsTroubleToAdminsOnly) {
    LanePage fixture;
    const LaneView failed{.state = LaneState::failed};
    const auto trouble = [&](const Caller& caller) {
        return fixture.page(failed, caller).at("trouble");
    };
    fixture.facts[0].now.trouble = {
        .cause = LaneCause::exited, .told = "its guard died: killed by SIGKILL", .said = "secret"};
    EXPECT_EQ(trouble(fixture.admin).as_string(), "its guard died: killed by SIGKILL: secret");
    EXPECT_EQ(trouble({}).as_string(), "its guard died: killed by SIGKILL");
    fixture.facts[0].now.trouble = {.cause = LaneCause::disagrees,
                                    .said = "it answers 1; lanes 0, 1 answer 7"};
    EXPECT_TRUE(trouble({}).is_null()) << "all of it is the worker's";
    EXPECT_TRUE(fixture.page({.state = LaneState::ready}).at("trouble").is_null());
}

TEST(LanePage, NamesTheCauseOfTheTroubleForPrograms) {
    LanePage fixture;
    fixture.facts[0].now.trouble = {.cause = LaneCause::wrong_answer, .told = "wrong answer"};
    EXPECT_EQ(fixture.page({.state = LaneState::failed}).at("cause").as_string(), "wrong_answer");
    EXPECT_TRUE(fixture.page({.state = LaneState::ready}).at("cause").is_null());
    fixture.facts[0].now.trouble = {};
    EXPECT_TRUE(fixture.page({.state = LaneState::failed}).at("cause").is_null());
}

TEST(LanePage, ShowsTheTimesOfAStartInMilliseconds) {
    LanePage fixture;
    fixture.facts[0].now.start.spawn = 3250us;
    const boost::json::object start = fixture.page({}).at("start").as_object();
    EXPECT_EQ(start.at("spawn_ms").as_double(), 3.25);
    EXPECT_TRUE(start.at("load_ms").is_null());
}

}  // namespace
}  // namespace turnpike
