#include "base/append.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Append, PutsAllPiecesBehindWhatIsThere) {
    std::string out = "before ";
    append_all(out, "a", "", ": ", std::string(100, 'b'), "\r\n");
    EXPECT_EQ(out, "before a: " + std::string(100, 'b') + "\r\n");
    append_all(out, "", std::string_view());
    EXPECT_EQ(out.size(), 112U);
}

TEST(Append, GrowsAsAStringGrows) {
    std::string out;
    std::size_t moves = 0;
    for (int i = 0; i < 10'000; ++i) {
        const char* const before = out.data();
        append_all(out, "0123456789");
        if (out.data() != before) ++moves;
    }
    EXPECT_LT(moves, 30U) << "not by each piece";
}

TEST(Append, WritesNumbersInDecimal) {
    std::string out;
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{1005}, UINT64_MAX}) {
        append_number(out, value);
        out += ' ';
    }
    EXPECT_EQ(out, "0 9 10 1005 18446744073709551615 ");
}

TEST(Append, WritesMillisecondsToTheMicrosecond) {
    std::string out;
    for (const Duration duration : {Duration{0}, Duration{999}, Duration{7us}, Duration{1500us},
                                    Duration{90min}, Duration{-1s}}) {
        append_milliseconds(out, duration);
        out += ' ';
    }
    EXPECT_EQ(out, "0.000 0.000 0.007 1.500 5400000.000 0.000 ");
}

}  // namespace
}  // namespace turnpike
