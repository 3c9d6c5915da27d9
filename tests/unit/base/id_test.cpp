#include "base/id.h"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace turnpike {
namespace {

using CarId = Id<struct CarTag>;
using RoadId = Id<struct RoadTag>;

TEST(Id, NamesNothingUntilItIsSet) {
    EXPECT_TRUE(CarId{}.is_none());
    EXPECT_FALSE(CarId{0}.is_none());
    EXPECT_TRUE(CarId{CarId::none_value}.is_none());
}

TEST(Id, ComparesByValue) {
    EXPECT_EQ(CarId{3}, CarId{3});
    EXPECT_NE(CarId{3}, CarId{4});
    EXPECT_LT(CarId{3}, CarId{4});
    EXPECT_LT(CarId{4}, CarId{}) << "none comes after everything";
}

TEST(Id, OfOneKindIsNotAnIdOfAnother) {
    static_assert(!std::is_convertible_v<CarId, RoadId>);
    static_assert(!std::is_constructible_v<CarId, RoadId>);
    static_assert(!std::equality_comparable_with<CarId, RoadId>);
    static_assert(!std::is_convertible_v<std::uint64_t, CarId>);
}

}  // namespace
}  // namespace turnpike
