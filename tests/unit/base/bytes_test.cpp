#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace turnpike {
namespace {

constexpr Bytes most{std::numeric_limits<std::uint64_t>::max()};

TEST(Bytes, AddAndSubtract) {
    EXPECT_EQ(Bytes{3} + Bytes{4}, Bytes{7});
    EXPECT_EQ(Bytes{7} - Bytes{4}, Bytes{3});
}

TEST(Bytes, StopAtTheMaximumInsteadOfWrapping) {
    EXPECT_EQ(most + Bytes{1}, most);
    EXPECT_EQ(Bytes{1} + most, most);
    EXPECT_EQ(most + most, most);
    EXPECT_EQ(most + Bytes{0}, most);
}

TEST(Bytes, StopAtZeroInsteadOfWrapping) {
    EXPECT_EQ(Bytes{3} - Bytes{4}, Bytes{0});
    EXPECT_EQ(Bytes{0} - most, Bytes{0});
}

TEST(Bytes, CompareByCount) {
    EXPECT_LT(Bytes{3}, Bytes{4});
    EXPECT_EQ(Bytes{}, Bytes{0});
    EXPECT_GT(most, gibibyte);
}

TEST(Bytes, HaveTheUsualMultiples) {
    EXPECT_EQ(kibibyte.count, 1024U);
    EXPECT_EQ(mebibyte.count, 1024U * 1024U);
    EXPECT_EQ(gibibyte.count, 1024ULL * 1024 * 1024);
}

}  // namespace
}  // namespace turnpike
