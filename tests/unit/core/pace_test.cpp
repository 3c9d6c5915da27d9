#include "core/pace.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace turnpike {
namespace {

TEST(Pace, KnowsNothingAtFirst) {
    const Pace pace;
    EXPECT_EQ(pace.usual(), 0s);
    EXPECT_EQ(pace.slot_time(), 0s);
    EXPECT_EQ(pace.samples(), 0U);
}

TEST(Pace, TakesTheFirstSampleAsItIs) {
    Pace pace;
    pace.add(400ms, 4);
    EXPECT_EQ(pace.usual(), 400ms);
    EXPECT_EQ(pace.slot_time(), 100ms) << "four shared the slot";
    EXPECT_EQ(pace.samples(), 1U);
}

TEST(Pace, ChangesLittleAfterOneOddJob) {
    Pace pace;
    for (int i = 0; i < 100; ++i) pace.add(160ms, 1);
    pace.add(1h, 1);
    EXPECT_EQ(pace.usual(), 170ms) << "a sixteenth at a time";
}

TEST(Pace, FollowsWhatIsUsualNow) {
    Pace pace;
    for (int i = 0; i < 100; ++i) pace.add(100ms, 1);
    for (int i = 0; i < 100; ++i) pace.add(1s, 1);
    EXPECT_EQ(pace.usual(), 1s);
    for (int i = 0; i < 100; ++i) pace.add(10ms, 1);
    EXPECT_EQ(pace.usual(), 10ms);
}

TEST(Pace, LeavesZeroAgain) {
    Pace pace;
    pace.add(0s, 1);
    for (int i = 0; i < 5; ++i) pace.add(1s, 1);
    EXPECT_EQ(pace.usual(), 5us) << "steps of at least a microsecond";
}

TEST(Pace, FindsTheMedianNotTheMean) {
    Pace pace;
    Random random(3);
    for (int i = 0; i < 2000; ++i) pace.add(random.chance(30) ? Duration(20s) : Duration(100ms), 1);
    EXPECT_LT(pace.usual(), 200ms) << "most take 100 ms";
    EXPECT_GT(pace.slot_time(), 2s) << "but slots are taken for 6 s on average";
}

TEST(Pace, CountsSlotTimeAsAMean) {
    Pace pace;
    pace.add(80ms, 1);
    pace.add(160ms, 1);
    EXPECT_EQ(pace.slot_time(), 90ms) << "an eighth of the way";
    pace.add(20ms, 2);
    EXPECT_EQ(pace.slot_time(), 80ms);
}

}  // namespace
}  // namespace turnpike
