#include "cli/pools_and_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(PoolsAndLanes, IsReadFromTheStatus) {
    const auto known = pools_and_lanes_in(R"({"pools":[{"pool":"chat"},{"pool":"draw"}],
                                  "lanes":[{"lane":0},{"lane":1},{"lane":2}]})");
    ASSERT_TRUE(known);
    EXPECT_THAT(known->pools, ElementsAre("chat", "draw"));
    EXPECT_EQ(known->lanes, 3U);
    EXPECT_FALSE(pools_and_lanes_in("[]"));
}

TEST(PoolsAndLanes, TellsWhichLanesThereAre) {
    const PoolsAndLanes known{.pools = {"chat"}, .lanes = 4};
    EXPECT_EQ(objection_to_lane("3", known), std::nullopt);
    EXPECT_EQ(objection_to_lane("003", known), std::nullopt);
    EXPECT_THAT(objection_to_lane("4", known),
                Optional(std::string("there is no lane 4; there are lanes 0 to 3")));
    EXPECT_THAT(objection_to_lane("7", {.pools = {}, .lanes = 1}),
                Optional(std::string("there is no lane 7; there is lane 0")));
    EXPECT_THAT(objection_to_lane("7", {}),
                Optional(std::string("there is no lane 7; there are no lanes")));
}

TEST(PoolsAndLanes, TellsThatALaneIsANumber) {
    for (const std::string word : {"", "x", "-1", "+1", "1 ", "0x1", "1234567890"})
        EXPECT_THAT(objection_to_lane(word, {.pools = {}, .lanes = 4}),
                    Optional("\"" + word + "\" is not the number of a lane; see: turnpike status"));
}

TEST(PoolsAndLanes, TellsWhichPoolsThereAre) {
    const PoolsAndLanes known{.pools = {"chat", "draw"}, .lanes = 4};
    EXPECT_EQ(objection_to_pool("draw", known), std::nullopt);
    EXPECT_THAT(objection_to_pool("no\x1bpe", known),
                Optional(std::string(
                    "there is no pool \"no?pe\"; there are: pools chat, draw; lanes 0 to 3")));
    EXPECT_THAT(objection_to_pool("x", {.pools = {"chat"}, .lanes = 1}),
                Optional(std::string("there is no pool \"x\"; there are: pool chat; lane 0")));
}

}  // namespace
}  // namespace turnpike
