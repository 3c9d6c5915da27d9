#include "base/leading_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace turnpike {
namespace {

TEST(LeadingNumber, StopsWhereTheNumberEnds) {
    EXPECT_EQ(leading_number<int>("4711"), 4711);
    EXPECT_EQ(leading_number<int>("-3 rest"), -3);
    EXPECT_EQ(leading_number<std::uint16_t>("1F90:", 16), 8080);
}

TEST(LeadingNumber, IsZeroWithoutANumberThatFits) {
    EXPECT_EQ(leading_number<int>(""), 0);
    EXPECT_EQ(leading_number<int>(" 1"), 0);
    EXPECT_EQ(leading_number<std::uint16_t>("65536"), 0);
}

}  // namespace
}  // namespace turnpike
