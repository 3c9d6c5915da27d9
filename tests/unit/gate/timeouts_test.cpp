#include "gate/timeouts.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace turnpike {
namespace {

struct Waiter {
    std::string name;
    std::function<void(Waiter&)> at_the_end = [](Waiter&) {};
    Links<Waiter> wait_links{};
    Wait wait = Wait::nothing;
    Instant wait_until{};
    void time_is_up() { at_the_end(*this); }
};

constexpr Instant start{};

class TimeoutsTest : public testing::Test {
protected:
    TimeoutsTest() {
        timeouts.set(Wait::head, 10s);
        timeouts.set(Wait::body, 3s);
    }
    Waiter waiter(std::string name) {
        return {.name = std::move(name),
                .at_the_end = [this](Waiter& g) { ended.push_back(g.name); }};
    }

    Timeouts<Waiter> timeouts;
    std::vector<std::string> ended;
};

using Names = std::vector<std::string>;

TEST_F(TimeoutsTest, WaitsForTheWholeTimeOfItsKind) {
    Waiter a = waiter("a");
    timeouts.wait_for(a, Wait::head, start);
    EXPECT_EQ(a.wait, Wait::head);
    timeouts.expire(start + 10s - 1ns);
    EXPECT_EQ(ended, Names{});
    timeouts.expire(start + 10s);
    EXPECT_EQ(ended, Names{"a"});
    EXPECT_EQ(a.wait, Wait::nothing);
    timeouts.expire(start + 100s);
    EXPECT_EQ(ended, Names{"a"}) << "once";
}

TEST_F(TimeoutsTest, EndsWaitsInTheOrderInWhichTheyBegan) {
    Waiter a = waiter("a");
    Waiter b = waiter("b");
    Waiter c = waiter("c");
    timeouts.wait_for(b, Wait::head, start);
    timeouts.wait_for(a, Wait::head, start + 1s);
    timeouts.wait_for(c, Wait::head, start + 2s);
    EXPECT_EQ(timeouts.longest_waiting(Wait::head), &b);
    timeouts.expire(start + 11s);
    EXPECT_EQ(ended, (Names{"b", "a"}));
    EXPECT_EQ(timeouts.longest_waiting(Wait::head), &c);
    EXPECT_EQ(timeouts.longest_waiting(Wait::body), nullptr);
}

TEST_F(TimeoutsTest, JudgesEachKindByItsOwnTime) {
    Waiter a = waiter("a");
    Waiter b = waiter("b");
    timeouts.wait_for(a, Wait::head, start);
    timeouts.wait_for(b, Wait::body, start + 1s);
    timeouts.expire(start + 4s);
    EXPECT_EQ(ended, Names{"b"});
}

TEST_F(TimeoutsTest, StartsAgainWhenTheKindOfWaitChanges) {
    Waiter a = waiter("a");
    timeouts.wait_for(a, Wait::head, start);
    timeouts.wait_for(a, Wait::body, start + 9s);
    timeouts.expire(start + 11s);
    EXPECT_EQ(ended, Names{});
    EXPECT_EQ(timeouts.longest_waiting(Wait::head), nullptr);
    timeouts.wait_for(a, Wait::body, start + 11s);
    timeouts.expire(start + 13s);
    EXPECT_EQ(ended, Names{});
    timeouts.wait_for(a, Wait::nothing, start + 13s);
    timeouts.expire(start + 1000s);
    EXPECT_EQ(ended, Names{});
    EXPECT_EQ(timeouts.longest_waiting(Wait::body), nullptr);
}

TEST_F(TimeoutsTest, AllowsANewWaitWhenTheTimeIsUp) {
    Waiter a = waiter("a");
    a.at_the_end = [&](Waiter& g) {
        ended.push_back("a");
        timeouts.wait_for(g, Wait::head, start + 10s);
    };
    timeouts.wait_for(a, Wait::head, start);
    timeouts.expire(start + 10s);
    EXPECT_EQ(ended, Names{"a"});
    EXPECT_EQ(a.wait, Wait::head);
    timeouts.expire(start + 19s);
    EXPECT_EQ(ended, Names{"a"});
    timeouts.expire(start + 20s);
    EXPECT_EQ(ended, (Names{"a", "a"}));
}

TEST_F(TimeoutsTest, EndsEvenIfAWaiterAlwaysStartsANewWait) {
    timeouts.set(Wait::closing, 0s);
    Waiter a = waiter("a");
    Waiter b = waiter("b");
    a.at_the_end = b.at_the_end = [&](Waiter& g) {
        ended.push_back(g.name);
        timeouts.wait_for(g, Wait::closing, start);
    };
    timeouts.wait_for(a, Wait::closing, start);
    timeouts.wait_for(b, Wait::closing, start);
    timeouts.expire(start);
    EXPECT_EQ(ended, (Names{"a", "b"}));
}

TEST_F(TimeoutsTest, AllowsOneWaiterToEndTheWaitOfAnother) {
    Waiter a = waiter("a");
    Waiter b = waiter("b");
    Waiter c = waiter("c");
    a.at_the_end = [&](Waiter&) {
        ended.push_back("a");
        timeouts.wait_for(b, Wait::nothing, start);
    };
    for (Waiter* each : {&a, &b, &c}) timeouts.wait_for(*each, Wait::head, start);
    timeouts.expire(start + 10s);
    EXPECT_EQ(ended, (Names{"a", "c"}));
}

TEST_F(TimeoutsTest, CanWaitForEver) {
    timeouts.set(Wait::request, Duration::max());
    Waiter a = waiter("a");
    timeouts.wait_for(a, Wait::request, start + 1h);
    timeouts.expire(start + 100'000h);
    EXPECT_EQ(ended, Names{});
}

}  // namespace
}  // namespace turnpike
