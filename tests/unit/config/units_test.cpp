#include "config/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;

TEST(Units, DurationsHaveAUnit) {
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("30s"), 30s);
    EXPECT_EQ(parse_duration("5m"), 5min);
    EXPECT_EQ(parse_duration("10min"), 10min);
    EXPECT_EQ(parse_duration("1h"), 1h);
    EXPECT_EQ(parse_duration("30d"), 720h);
    EXPECT_EQ(parse_duration("0s"), 0s);
    EXPECT_EQ(parse_duration("1.5s"), 1500ms);
    EXPECT_EQ(parse_duration("0.25h"), 15min);
    EXPECT_EQ(parse_duration("0.001ms"), 1us);
}

TEST(Units, ADurationWithoutAUnitIsAMistakeThatListsTheUnits) {
    for (const char* text : {"30", "30x", "30S", "30 s", "1.5", "30s ", "30sec", "1h30m"}) {
        const auto parsed = parse_duration(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.error(), HasSubstr("needs a unit: \"500ms\"")) << text;
    }
}

TEST(Units, ADurationIsANumberThatIsNotNegative) {
    for (const char* text : {"", "s", "-1s", "+1s", " 1s", ".5s", "1.s", "1.2345s", "0x1s", "1e3s"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Units, ADurationThatDoesNotFitIsTooLarge) {
    EXPECT_EQ(parse_duration("9223372036s"), 9223372036s);
    for (const char* text : {"9223372037s", "106752d", "99999999999999999999s", "9223372036.9s"}) {
        const auto parsed = parse_duration(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error(), "is too large");
    }
}

TEST(Units, SizesAreInPowersOfTwo) {
    EXPECT_EQ(parse_bytes("100B"), Bytes{100});
    EXPECT_EQ(parse_bytes("512KiB"), Bytes{512 * 1024});
    EXPECT_EQ(parse_bytes("64MiB"), Bytes{64 * 1024 * 1024});
    EXPECT_EQ(parse_bytes("1GiB"), gibibyte);
    EXPECT_EQ(parse_bytes("2TiB"), Bytes{2048 * gibibyte.count});
    EXPECT_EQ(parse_bytes("1.5MiB"), Bytes{1536 * 1024});
    EXPECT_EQ(parse_bytes("1000"), Bytes{1000});
    EXPECT_EQ(parse_bytes("18446744073709551615"), Bytes{~std::uint64_t{0}});
}

TEST(Units, OtherSizesAreMistakes) {
    for (const char* text : {"", "MiB", "-1", "64MB", "64M", "64mib", "64 MiB", "1.5", "0x10"})
        EXPECT_FALSE(parse_bytes(text)) << text;
    EXPECT_EQ(parse_bytes("18446744073709551616").error(), "is too large");
    EXPECT_EQ(parse_bytes("99999999TiB").error(), "is too large");
    EXPECT_THAT(parse_bytes("64MB").error(), HasSubstr("needs a unit: \"100B\""));
}

TEST(Units, AmountsAreShownInTheLargestUnitThatIsExact) {
    EXPECT_EQ(text_of(Duration{0s}), "0s");
    EXPECT_EQ(text_of(Duration{200ms}), "200ms");
    EXPECT_EQ(text_of(Duration{75s}), "75s");
    EXPECT_EQ(text_of(Duration{600s}), "10min");
    EXPECT_EQ(text_of(Duration{720h}), "30d");
    EXPECT_EQ(text_of(Bytes{0}), "0B");
    EXPECT_EQ(text_of(Bytes{1536}), "1536B");
    EXPECT_EQ(text_of(Bytes{64 * mebibyte.count}), "64MiB");
}

TEST(Units, WhatIsShownReadsBackAsItself) {
    for (const Duration duration : {Duration{1ns}, Duration{1001us}, Duration{90s}, Duration{25h}})
        EXPECT_EQ(parse_duration(text_of(duration)), duration);
    for (const Bytes bytes : {Bytes{0}, Bytes{1023}, kibibyte, Bytes{3 * gibibyte.count}})
        EXPECT_EQ(parse_bytes(text_of(bytes)), bytes);
}

}  // namespace
}  // namespace turnpike
