#include "base/check.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(CheckDeathTest, AbortsAndSaysWhereAndWhat) {
    const int lanes = 0;
    EXPECT_DEATH(CHECK(lanes > 0), "check_test\\.cpp:[0-9]+: CHECK failed: lanes > 0");
}

TEST(Check, LetsATrueConditionPass) {
    int evaluated = 0;
    CHECK(++evaluated == 1);
    EXPECT_EQ(evaluated, 1);
}

TEST(Check, IsOneStatement) {
    bool otherwise = false;
    if (otherwise)
        CHECK(false);
    else
        otherwise = true;
    EXPECT_TRUE(otherwise);
}

}  // namespace
}  // namespace turnpike
