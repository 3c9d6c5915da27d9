#include "base/slab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/id.h"

namespace turnpike {
namespace {

using testing::ElementsAre;

using CarId = Id<struct CarTag>;

struct Car {
    CarId id;
    int wheels = 4;
};

using Garage = Slab<Car, CarId>;

TEST(Slab, GivesEachThingAnIdThatFindsIt) {
    Garage garage;
    Car& a = garage.add();
    Car& b = garage.add();
    EXPECT_NE(a.id, b.id);
    EXPECT_EQ(garage.find(a.id), &a);
    EXPECT_EQ(garage.find(b.id), &b);
    EXPECT_EQ(std::as_const(garage).find(b.id), &b);
    EXPECT_EQ(garage.size(), 2U);
}

TEST(Slab, FindsNothingUnderAnIdThatWasNeverGiven) {
    Garage garage;
    EXPECT_EQ(garage.find(CarId{}), nullptr);
    EXPECT_EQ(garage.find(CarId{0}), nullptr);
    garage.add();
    EXPECT_EQ(garage.find(CarId{}), nullptr);
    EXPECT_EQ(garage.find(CarId{1}), nullptr) << "a place that is not taken";
    EXPECT_EQ(garage.find(CarId{64}), nullptr) << "a place that does not exist";
}

TEST(Slab, FindsNothingUnderTheIdOfARemovedThing) {
    Garage garage;
    Car& car = garage.add();
    const CarId id = car.id;
    garage.remove(car);
    EXPECT_EQ(garage.find(id), nullptr);
    EXPECT_EQ(garage.size(), 0U);
}

TEST(Slab, UsesAPlaceAgainWithoutMistakingTheOldIdForTheNew) {
    Garage garage;
    Car& old = garage.add();
    const CarId old_id = old.id;
    garage.remove(old);
    Car& successor = garage.add();
    ASSERT_EQ(&successor, &old) << "the same place";
    EXPECT_NE(successor.id, old_id);
    EXPECT_EQ(garage.find(old_id), nullptr);
    EXPECT_EQ(garage.find(successor.id), &successor);
}

TEST(Slab, HandsOutAPlaceAsNew) {
    Garage garage;
    Car& car = garage.add();
    car.wheels = 3;
    garage.remove(car);
    EXPECT_EQ(garage.add().wheels, 4);
}

TEST(Slab, NeverMovesAThingWhenItGrows) {
    Garage garage;
    std::vector<std::pair<CarId, Car*>> cars;
    for (int i = 0; i < 1000; ++i) {
        Car& car = garage.add();
        cars.emplace_back(car.id, &car);
    }
    for (const auto& [id, car] : cars) EXPECT_EQ(garage.find(id), car);
    EXPECT_EQ(garage.size(), 1000U);
}

TEST(Slab, VisitsEverythingInTheOrderOfPlaces) {
    Garage garage;
    for (int wheels : {1, 2, 3, 4}) garage.add().wheels = wheels;
    std::vector<int> seen;
    garage.each([&](Car& car) {
        seen.push_back(car.wheels);
        if (car.wheels % 2 == 0) garage.remove(car);
    });
    EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4)) << "also when the visitor removes things";
    EXPECT_EQ(garage.size(), 2U);
    seen.clear();
    garage.each([&](const Car& car) { seen.push_back(car.wheels); });
    EXPECT_THAT(seen, ElementsAre(1, 3));
}

TEST(SlabDeathTest, DoesNotRemoveAThingTwice) {
    Garage garage;
    Car& car = garage.add();
    garage.remove(car);
    EXPECT_DEATH(garage.remove(car), "CHECK failed: place.is_taken");
}

TEST(SlabDeathTest, DoesNotRemoveACopyForTheOriginal) {
    Garage garage;
    Car copy = garage.add();
    EXPECT_DEATH(garage.remove(copy), "CHECK failed: place.is_taken && &place.thing == &thing");
}

}  // namespace
}  // namespace turnpike
