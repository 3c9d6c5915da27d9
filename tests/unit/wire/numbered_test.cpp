// Numbered behaves like std::map.
#include "wire/numbered.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "base/random.h"

namespace turnpike::wire {
namespace {

/// Returns numbers that are dense, like ids, or that all have the same home.
std::uint64_t number_of(Random& random, bool is_dense) {
    const std::uint64_t low = random.below(40);
    const std::uint64_t high = random.below(3);
    return is_dense ? low | (high << 32U) : low << 59U;
}

void expect_like_a_map(std::uint64_t seed) {
    Random random(seed);
    Numbered<std::uint64_t> numbered;
    std::map<std::uint64_t, std::uint64_t> expected;
    for (int step = 0; step < 2000; ++step) {
        const std::uint64_t number = number_of(random, seed % 2 == 0);
        const std::uint64_t* const found = numbered.find(number);
        ASSERT_EQ(found != nullptr, expected.contains(number));
        if (found == nullptr) {
            numbered.add(number) = expected[number] = random.next();
        } else {
            ASSERT_EQ(*found, expected[number]);
            if (random.chance(30)) continue;
            ASSERT_TRUE(numbered.remove(number));
            expected.erase(number);
        }
        ASSERT_EQ(numbered.size(), expected.size());
    }
    for (const auto& [number, value] : expected) ASSERT_EQ(*numbered.find(number), value);
}

TEST(Numbered, DoesWhatAMapDoes) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) expect_like_a_map(seed);
}

TEST(Numbered, RemovesOnlyWhatIsThere) {
    Numbered<int> numbered;
    EXPECT_FALSE(numbered.remove(0));
    numbered.add(0) = 5;
    EXPECT_FALSE(numbered.remove(1));
    EXPECT_TRUE(numbered.remove(0));
    EXPECT_FALSE(numbered.remove(0));
}

TEST(NumberedDeathTest, TakesANumberOnce) {
    Numbered<int> numbered;
    numbered.add(7);
    EXPECT_DEATH(numbered.add(7), "find");
}

}  // namespace
}  // namespace turnpike::wire
