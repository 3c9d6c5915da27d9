// How people name runs, and which names are refused.
#include "sim/seeds.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace turnpike::sim {
namespace {

TEST(Seeds, AreARangeOrOne) {
    EXPECT_EQ(parse_seeds("1..20000"), (SeedRange{.first = 1, .last = 20000}));
    EXPECT_EQ(parse_seeds("7..7"), (SeedRange{.first = 7, .last = 7}));
    EXPECT_EQ(parse_seeds("42"), (SeedRange{.first = 42, .last = 42}));
}

TEST(Seeds, AreRefusedWhenTheyAreNoRange) {
    for (const char* text : {"", "x", "1..", "..2", "1.2", "1...2", "1..2..3", "-1..2", " 1..2",
                             "1..2 ", "5..3", "99999999999999999999"})
        EXPECT_FALSE(parse_seeds(text).has_value()) << text;
}

TEST(Keep, IsARisingList) {
    EXPECT_EQ(parse_keep("3,17,42"), (Ids{3, 17, 42}));
    EXPECT_EQ(parse_keep("0"), Ids{0});
    EXPECT_EQ(parse_keep(""), Ids{});
}

TEST(Keep, IsRefusedWhenItIsNoRisingList) {
    for (const char* text : {",", "1,", ",1", "1,,2", "a", "1, 2", "2,1", "3,3", "4294967296"})
        EXPECT_FALSE(parse_keep(text).has_value()) << text;
}

TEST(Regressions, AreLinesWithCommentsBetween) {
    const auto names = parse_regressions("# found by hand\n\ncalm 3\n  solo 17 keep=1,4  # why\n");
    ASSERT_TRUE(names.has_value()) << names.error();
    ASSERT_EQ(names->size(), 2U);
    EXPECT_EQ((*names)[0].scenario->name, "calm");
    EXPECT_EQ((*names)[0].seed, 3U);
    EXPECT_EQ((*names)[0].keep, std::nullopt);
    EXPECT_EQ((*names)[1].keep, (Ids{1, 4}));
}

TEST(Regressions, AreRefusedWithTheNumberOfTheBadLine) {
    for (const char* line : {"calm", "calm x", "nothing 3", "calm 3 keep", "calm 3 keep=2,1",
                             "calm 3 4", "calm 3 keep=1 more"}) {
        const auto names = parse_regressions("calm 1\n" + std::string(line) + "\n");
        ASSERT_FALSE(names.has_value()) << line;
        EXPECT_TRUE(names.error().starts_with("line 2: ")) << names.error();
    }
}

}  // namespace
}  // namespace turnpike::sim
