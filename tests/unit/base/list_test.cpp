#include "base/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Car {
    int number = 0;
    Links<Car> on_road = {};
    Links<Car> in_queue = {};
};

using Road = List<Car, &Car::on_road>;

std::vector<int> numbers(const Road& road) {
    std::vector<int> found;
    for (const Car* car = road.front(); car != nullptr; car = Road::after(*car))
        found.push_back(car->number);
    return found;
}

/// Three cars on a road.
class ListOfThree : public testing::Test {
protected:
    ListOfThree() {
        for (Car* car : {&first_, &second_, &third_}) road_.push_back(*car);
    }
    Car first_{1};
    Car second_{2};
    Car third_{3};
    Road road_;
};

TEST(List, IsEmptyAtFirst) {
    const Road road;
    EXPECT_TRUE(road.empty());
    EXPECT_EQ(road.size(), 0U);
    EXPECT_EQ(road.front(), nullptr);
}

TEST_F(ListOfThree, KeepsTheOrderOfJoining) {
    EXPECT_THAT(numbers(road_), ElementsAre(1, 2, 3));
    EXPECT_EQ(road_.size(), 3U);
}

TEST_F(ListOfThree, LetsTheFirstLeave) {
    road_.remove(first_);
    EXPECT_THAT(numbers(road_), ElementsAre(2, 3));
    EXPECT_EQ(road_.front(), &second_);
}

TEST_F(ListOfThree, LetsTheMiddleLeave) {
    road_.remove(second_);
    EXPECT_THAT(numbers(road_), ElementsAre(1, 3));
}

TEST_F(ListOfThree, LetsTheLastLeaveAndAnotherJoinBehindTheRest) {
    road_.remove(third_);
    Car fourth{4};
    road_.push_back(fourth);
    EXPECT_THAT(numbers(road_), ElementsAre(1, 2, 4));
}

TEST_F(ListOfThree, TakesBackAThingThatHasLeft) {
    road_.remove(first_);
    road_.push_back(first_);
    EXPECT_THAT(numbers(road_), ElementsAre(2, 3, 1));
}

TEST_F(ListOfThree, ClearsTheLinksOfAThingThatHasLeft) {
    road_.remove(second_);
    EXPECT_EQ(second_.on_road.before, nullptr);
    EXPECT_EQ(second_.on_road.after, nullptr);
}

TEST_F(ListOfThree, IsEmptyAndUsableWhenAllHaveLeft) {
    for (Car* car : {&second_, &first_, &third_}) road_.remove(*car);
    EXPECT_TRUE(road_.empty());
    EXPECT_THAT(numbers(road_), IsEmpty());
    road_.push_back(third_);
    EXPECT_THAT(numbers(road_), ElementsAre(3));
}

TEST_F(ListOfThree, DoesNotMindThatItsThingsAreInAnotherListToo) {
    List<Car, &Car::in_queue> queue;
    queue.push_back(third_);
    queue.push_back(first_);
    road_.remove(first_);
    EXPECT_THAT(numbers(road_), ElementsAre(2, 3));
    EXPECT_EQ(queue.front(), &third_);
    EXPECT_EQ(queue.size(), 2U);
}

TEST(ListDeathTest, HasNothingToRemoveWhenItIsEmpty) {
    Road road;
    Car car;
    EXPECT_DEATH(road.remove(car), "CHECK failed: size_ > 0");
}

}  // namespace
}  // namespace turnpike
