#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <set>

namespace turnpike {
namespace {

TEST(Random, DrawsWhatSplitMix64Draws) {
    Random random(1234567);  // the published test vector
    EXPECT_EQ(random.next(), 6457827717110365317ULL);
    EXPECT_EQ(random.next(), 3203168211198807973ULL);
    EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, RepeatsItselfWithTheSameSeed) {
    Random one(42);
    Random same(42);
    Random other(43);
    const std::uint64_t drawn = one.next();
    EXPECT_EQ(drawn, same.next());
    EXPECT_NE(drawn, other.next());
}

TEST(Random, DrawsEveryValueBelowTheBoundAboutEquallyOften) {
    Random random(7);
    std::array<int, 10> seen{};
    for (int i = 0; i < 10'000; ++i) ++seen.at(random.below(10));
    for (const int count : seen) {
        EXPECT_GT(count, 850);
        EXPECT_LT(count, 1150);
    }
}

TEST(Random, HasOneValueBelowOne) {
    Random random(7);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, IncludesBothEndsOfARange) {
    Random random(7);
    std::set<std::int64_t> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 2));
    EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
    EXPECT_EQ(random.between(5, 5), 5);
}

TEST(Random, StaysWithinARangeOfMoreThan32Bits) {
    Random random(7);
    constexpr std::int64_t far = std::int64_t{1} << 40;
    std::set<std::int64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t drawn = random.between(-far, far);
        EXPECT_GE(drawn, -far);
        EXPECT_LE(drawn, far);
        seen.insert(drawn);
    }
    EXPECT_GT(seen.size(), 990U);
}

TEST(Random, DrawsFromTheWholeRangeOfNumbers) {
    Random random(7);
    using Limits = std::numeric_limits<std::int64_t>;
    std::set<std::int64_t> seen;
    for (int i = 0; i < 100; ++i) seen.insert(random.between(Limits::min(), Limits::max()));
    EXPECT_EQ(seen.size(), 100U);
}

TEST(Random, TakesAChanceAsOftenAsItSays) {
    Random random(7);
    int taken = 0;
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_FALSE(random.chance(0));
        EXPECT_TRUE(random.chance(100));
        if (random.chance(30)) ++taken;
    }
    EXPECT_GT(taken, 2850);
    EXPECT_LT(taken, 3150);
}

TEST(RandomDeathTest, CannotDrawFromNothing) {
    Random random(7);
    EXPECT_DEATH(random.below(0), "CHECK failed");
    EXPECT_DEATH(random.between(2, 1), "CHECK failed");
}

}  // namespace
}  // namespace turnpike
