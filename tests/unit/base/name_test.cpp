#include "base/name.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

TEST(Name, IsShortAndLowerCase) {
    for (const char* good : {"a", "default", "qwen3-32b", "v1.2_x", "-", "_", "a."})
        EXPECT_TRUE(is_name(good)) << good;
    EXPECT_TRUE(is_name(std::string(64, 'a')));
}

TEST(Name, CannotLeaveItsFolderOrHideInIt) {
    for (const char* bad : {"", ".", "..", ".hidden", "a/b", "/", "A", "a b", "a\n", "ä", "a*"})
        EXPECT_FALSE(is_name(bad)) << bad;
    EXPECT_FALSE(is_name(std::string_view("a\0b", 3)));
    EXPECT_FALSE(is_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace turnpike
