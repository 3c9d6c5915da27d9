#include "cli/pools_and_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Roll, IsReadFromTheStatus) {
    const auto roll = roll_of(R"({"pools":[{"pool":"chat"},{"pool":"draw"}],
                                  "lanes":[{"lane":0},{"lane":1},{"lane":2}]})");
    ASSERT_TRUE(roll);
    EXPECT_THAT(roll->pools, ElementsAre("chat", "draw"));
    EXPECT_EQ(roll->lanes, 3U);
    EXPECT_FALSE(roll_of("[]"));
}

TEST(Roll, TellsWhichLanesThereAre) {
    const Roll roll{.pools = {"chat"}, .lanes = 4};
    EXPECT_EQ(objection_to_lane("3", roll), std::nullopt);
    EXPECT_EQ(objection_to_lane("003", roll), std::nullopt);
    EXPECT_THAT(objection_to_lane("4", roll),
                Optional(std::string("there is no lane 4; there are lanes 0 to 3")));
    EXPECT_THAT(objection_to_lane("7", {.pools = {}, .lanes = 1}),
                Optional(std::string("there is no lane 7; there is lane 0")));
    EXPECT_THAT(objection_to_lane("7", {}),
                Optional(std::string("there is no lane 7; there are no lanes")));
}

TEST(Roll, TellsThatALaneIsANumber) {
    for (const std::string word : {"", "x", "-1", "+1", "1 ", "0x1", "1234567890"})
        EXPECT_THAT(
            objection_to_lane(word, {.pools = {}, .lanes = 4}),
            Optional("LANE is a number, as in `turnpike status`; \"" + word + "\" is none"));
}

TEST(Roll, TellsWhichPoolsThereAre) {
    const Roll roll{.pools = {"chat", "draw"}, .lanes = 4};
    EXPECT_EQ(objection_to_pool("draw", roll), std::nullopt);
    EXPECT_THAT(objection_to_pool("no\x1bpe", roll),
                Optional(std::string(
                    "there is no pool \"no?pe\"; there are: pools chat, draw; lanes 0 to 3")));
    EXPECT_THAT(objection_to_pool("x", {.pools = {"chat"}, .lanes = 1}),
                Optional(std::string("there is no pool \"x\"; there are: pool chat; lane 0")));
}

}  // namespace
}  // namespace turnpike
