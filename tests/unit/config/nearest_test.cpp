#include "config/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace turnpike {
namespace {

const std::vector<std::string> known{"listen", "body_max", "spool", "slots"};

TEST(Nearest, CountsSlips) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("listen", "listen"), 0U);
    EXPECT_EQ(edit_distance("lisetn", "listen"), 1U);
    EXPECT_EQ(edit_distance("isten", "listen"), 1U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsTheWordThatWasMeant) {
    EXPECT_EQ(nearest("lisen", known), "listen");
    EXPECT_EQ(nearest("bodymax", known), "body_max");
    EXPECT_EQ(nearest("slot", known), "slots");
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
    EXPECT_EQ(nearest("colour", known), "");
    EXPECT_EQ(nearest("", known), "");
    EXPECT_EQ(nearest("x", {}), "");
    EXPECT_EQ(nearest(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace turnpike
