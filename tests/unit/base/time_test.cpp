#include "base/time.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Time, AddsADurationToAnInstant) {
    const Instant noon = Instant{} + 12h;
    EXPECT_EQ(later(noon, 5s), noon + 5s);
    EXPECT_EQ(later(noon, 0s), noon);
}

TEST(Time, GoesBackByANegativeDuration) {
    const Instant noon = Instant{} + 12h;
    EXPECT_EQ(later(noon, -5s), noon - 5s);
}

TEST(Time, HasNothingAfterNever) {
    const Instant noon = Instant{} + 12h;
    EXPECT_EQ(later(noon, Duration::max()), never);
    EXPECT_EQ(later(never, 1s), never);
    EXPECT_EQ(later(never - 5s, 5s), never);
    EXPECT_EQ(later(never - 5s, 4s), never - 1s);
}

TEST(Time, CountsInNanoseconds) {
    EXPECT_EQ(Duration(1us).count(), 1000);
    EXPECT_EQ(Duration(1min), 60s);
}

}  // namespace
}  // namespace turnpike
