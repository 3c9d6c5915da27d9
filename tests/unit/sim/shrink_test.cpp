// Shrinking keeps the stimuli that are needed, and drops all others.
#include "sim/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace turnpike::sim {
namespace {

Ids up_to(std::uint32_t count) {
    Ids ids(count);
    std::iota(ids.begin(), ids.end(), 0U);
    return ids;
}

bool has(const Ids& ids, std::uint32_t id) { return std::ranges::find(ids, id) != ids.end(); }

bool always() { return true; }

TEST(Shrink, FindsTheStimuliThatAreAllNeeded) {
    const auto needs_three = [](const Ids& ids) {
        return has(ids, 3) && has(ids, 17) && has(ids, 99);
    };
    EXPECT_EQ(shrink(up_to(200), {.still_fails = needs_three, .may_go_on = always}),
              (Ids{3, 17, 99}));
}

TEST(Shrink, FindsOneOfSeveralWays) {
    const auto either = [](const Ids& ids) { return has(ids, 5) || has(ids, 6); };
    EXPECT_EQ(shrink(up_to(50), {.still_fails = either, .may_go_on = always}).size(), 1U);
}

TEST(Shrink, LeavesNothingWhenNothingIsNeeded) {
    const auto whatever = [](const Ids&) { return true; };
    EXPECT_TRUE(shrink(up_to(10), {.still_fails = whatever, .may_go_on = always}).empty());
}

TEST(Shrink, KeepsEverythingWhenEverythingIsNeeded) {
    const auto all = [](const Ids& ids) { return ids.size() == 9; };
    EXPECT_EQ(shrink(up_to(9), {.still_fails = all, .may_go_on = always}), up_to(9));
}

TEST(Shrink, ReturnsWhatStillFailsWhenTheTimeIsOver) {
    const auto needs_seven = [](const Ids& ids) { return has(ids, 7); };
    int tries = 0;
    const auto three_tries = [&] { return ++tries <= 3; };
    const Ids ids = shrink(up_to(100), {.still_fails = needs_seven, .may_go_on = three_tries});
    EXPECT_TRUE(has(ids, 7));
    EXPECT_GT(ids.size(), 1U);
}

}  // namespace
}  // namespace turnpike::sim
