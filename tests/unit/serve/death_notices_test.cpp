#include "serve/death_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ReportedDeaths {
    std::vector<std::string> said() {
        std::vector<std::string> lines;
        for (const DeathNotices::Notice& told : deaths.take()) lines.push_back(told.text);
        return lines;
    }
    void die(std::initializer_list<std::size_t> lanes, const std::string& why) {
        for (const std::size_t lane : lanes) deaths.add({.lane = lane, .why = why, .report = "id"});
    }
    DeathNotices deaths{8};
};

TEST(DeathNotices, OfOneReasonAreOneLine) {
    ReportedDeaths reported;
    reported.die({3, 0, 1, 1}, "exit code 1");
    reported.die({2}, "exit code 2");
    EXPECT_THAT(reported.said(), ElementsAre("lanes 0-1, 3: their workers died: exit code 1",
                                             "lane 2: its worker died: exit code 2"));
    EXPECT_THAT(reported.said(), IsEmpty());
    reported.die({4}, "");
    EXPECT_THAT(reported.said(), ElementsAre("lane 4: its worker died"));
}

TEST(DeathNotices, OfAReasonThatWasToldAreShort) {
    ReportedDeaths reported;
    reported.die({1}, "exit code 1");
    EXPECT_THAT(reported.said(), ElementsAre("lane 1: its worker died: exit code 1"));
    reported.die({1, 2, 3}, "exit code 1");
    EXPECT_THAT(reported.said(), ElementsAre("lanes 2-3: their workers died like that of lane 1"));
    reported.die({1, 2, 3}, "exit code 1");
    EXPECT_THAT(reported.said(), IsEmpty()) << "as before";
    reported.die({2}, "exit code 2");
    EXPECT_THAT(reported.said(), ElementsAre("lane 2: its worker died: exit code 2"));
}

TEST(DeathNotices, OfALaneThatServedInBetweenAreNew) {
    ReportedDeaths reported;
    reported.die({1}, "exit code 1");
    EXPECT_THAT(reported.said(), ElementsAre("lane 1: its worker died: exit code 1"));
    reported.deaths.served(1);
    reported.die({1}, "exit code 1");
    reported.deaths.served(1);  // before the death was reported
    EXPECT_THAT(reported.said(), ElementsAre("lane 1: its worker died: exit code 1"));
    reported.die({1}, "exit code 1");
    EXPECT_THAT(reported.said(), ElementsAre("lane 1: its worker died: exit code 1"));
}

TEST(DeathNotices, HaveACauseIfAllLanesDiedOfIt) {
    DeathNotices deaths(2);
    EXPECT_EQ(deaths.cause_of_all(), "");
    deaths.add({.lane = 0, .why = "exit code 1", .report = ""});
    EXPECT_EQ(deaths.take().size(), 1U);
    EXPECT_EQ(deaths.cause_of_all(), "");
    deaths.add({.lane = 1, .why = "exit code 1", .report = ""});
    EXPECT_EQ(deaths.take().size(), 1U);
    EXPECT_EQ(deaths.cause_of_all(), "exit code 1");
    deaths.served(0);
    EXPECT_EQ(deaths.cause_of_all(), "");
    EXPECT_EQ(DeathNotices(0).cause_of_all(), "");
}

}  // namespace
}  // namespace turnpike
