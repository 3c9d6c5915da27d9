#include "base/utc.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace turnpike {
namespace {

constexpr std::int64_t second = 1'000'000'000;

std::string utc(std::int64_t unix_ns) {
    std::string out;
    append_utc(out, unix_ns);
    return out;
}

TEST(Utc, ShowsDateAndTimeToTheMillisecond) {
    EXPECT_EQ(utc(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(utc(1'794'736'800 * second + 123'999'999), "2026-11-15T10:00:00.123Z");
    EXPECT_EQ(utc(946'684'799 * second + 999'000'000), "1999-12-31T23:59:59.999Z");
}

TEST(Utc, KnowsLeapYears) {
    EXPECT_EQ(utc(1'709'164'800 * second), "2024-02-29T00:00:00.000Z");
    EXPECT_EQ(utc(951'782'400 * second), "2000-02-29T00:00:00.000Z");
    EXPECT_EQ(utc(4'107'542'400 * second), "2100-03-01T00:00:00.000Z");
    EXPECT_EQ(utc(4'107'542'400 * second - 1), "2100-02-28T23:59:59.999Z");
}

TEST(Utc, ShowsTheFirstDayAndTheLastInstantOf64Bits) {
    EXPECT_EQ(utc(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(utc(second * -106'751 * 86'400), "1677-09-22T00:00:00.000Z");
    EXPECT_EQ(utc(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16.854Z");
}

TEST(Utc, ShowsTheTimeOfDayAlone) {
    std::string out = "at ";
    append_time_of_day(out, 1'794'736'800 * second + 5'000'000);
    EXPECT_EQ(out, "at 10:00:00.005");
    out.clear();
    append_time_of_day(out, -second);
    EXPECT_EQ(out, "23:59:59.000");
}

}  // namespace
}  // namespace turnpike
