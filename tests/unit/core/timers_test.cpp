#include "core/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant start = Instant{} + 100s;

Timer timer(std::uint64_t owner) { return {.kind = TimerKind::job, .owner = owner}; }

/// Returns the owners of all timers that are due, in order.
std::vector<std::uint64_t> take_all(Timers& timers, Instant now) {
    std::vector<std::uint64_t> owners;
    while (const Timer* due = timers.take_due(now)) owners.push_back(due->owner);
    return owners;
}

TEST(Timers, WaitForNothingAtFirst) {
    Timers timers;
    EXPECT_EQ(timers.next(), never);
    EXPECT_EQ(timers.take_due(start), nullptr);
}

TEST(Timers, GiveNothingBeforeItIsDue) {
    Timers timers;
    Timer a = timer(1);
    timers.arm(a, start + 5s);
    EXPECT_EQ(timers.next(), start + 5s);
    EXPECT_EQ(timers.take_due(start + 5s - 1ns), nullptr);
    EXPECT_TRUE(a.is_armed());
}

TEST(Timers, GiveWhatIsDueOnceAndDisarmed) {
    Timers timers;
    Timer a = timer(1);
    timers.arm(a, start);
    EXPECT_EQ(timers.take_due(start), &a);
    EXPECT_FALSE(a.is_armed());
    EXPECT_EQ(timers.take_due(start), nullptr);
    EXPECT_EQ(timers.next(), never);
}

TEST(Timers, GiveTheEarliestFirst) {
    Timers timers;
    std::array<Timer, 6> armed{timer(0), timer(1), timer(2), timer(3), timer(4), timer(5)};
    for (const std::uint64_t owner : {3, 0, 5, 1, 4, 2})
        timers.arm(armed.at(owner), start + Duration(owner));
    EXPECT_THAT(take_all(timers, start + Duration(3)), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(take_all(timers, start + Duration(5)), ElementsAre(4, 5));
}

TEST(Timers, MoveAnArmedTimerEarlierAndLater) {
    Timers timers;
    Timer a = timer(1);
    Timer b = timer(2);
    timers.arm(a, start + 5s);
    timers.arm(b, start + 6s);
    timers.arm(b, start + 4s);
    EXPECT_EQ(timers.next(), start + 4s);
    timers.arm(b, start + 7s);
    EXPECT_THAT(take_all(timers, start + 7s), ElementsAre(1, 2));
}

TEST(Timers, ForgetADisarmedTimer) {
    Timers timers;
    Timer a = timer(1);
    Timer b = timer(2);
    timers.arm(a, start);
    timers.arm(b, start + 1s);
    timers.disarm(a);
    EXPECT_FALSE(a.is_armed());
    EXPECT_EQ(timers.next(), start + 1s);
    timers.disarm(a);  // a second call does nothing
    EXPECT_THAT(take_all(timers, start + 1s), ElementsAre(2));
}

TEST(Timers, TreatNeverAsDisarmed) {
    Timers timers;
    Timer a = timer(1);
    timers.arm(a, never);
    EXPECT_FALSE(a.is_armed());
    timers.arm(a, start);
    timers.arm(a, never);
    EXPECT_FALSE(a.is_armed());
    EXPECT_THAT(take_all(timers, start), IsEmpty());
}

TEST(TimersDeathTest, NoticeATimerThatMovedInMemoryWhileArmed) {
    Timers timers;
    Timer a = timer(1);
    timers.arm(a, start);
    Timer moved = a;
    EXPECT_DEATH(timers.arm(moved, start + 1s),
                 "CHECK failed: heap_\\[timer.place\\].timer == &timer");
    EXPECT_DEATH(timers.disarm(moved), "CHECK failed: heap_\\[hole\\].timer == &timer");
}

/// Compares thousands of arms, moves and disarms with a plain list.
TEST(Timers, StayInOrderThroughAnyHistory) {
    struct Waiting {
        Timer timer;
        Instant at = never;
    };
    constexpr std::size_t count = 97;
    std::vector<Waiting> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i].timer = timer(i);
    Timers timers;
    Random random(11);
    Instant now = start;
    const auto earliest = [&] { return std::ranges::min_element(all, {}, &Waiting::at)->at; };
    for (int step = 0; step < 20'000; ++step) {
        Waiting& one = all[random.below(count)];
        if (random.chance(25)) {
            timers.disarm(one.timer);
            one.at = never;
        } else {
            one.at = now + Duration(random.between(0, 500));
            timers.arm(one.timer, one.at);
        }
        ASSERT_EQ(timers.next(), earliest());
        now += Duration(random.between(0, 3));
        while (const Timer* due = timers.take_due(now)) {
            ASSERT_EQ(all[due->owner].at, earliest());
            ASSERT_LE(all[due->owner].at, now);
            all[due->owner].at = never;
        }
        ASSERT_GT(earliest(), now);
    }
}

TEST(Timers, HasNothingDueAtTheEndOfTimeWhenNothingWaits) {
    Timers timers;
    EXPECT_EQ(timers.take_due(never), nullptr);
}

}  // namespace
}  // namespace turnpike
