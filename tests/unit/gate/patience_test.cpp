#include "gate/patience.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace turnpike {
namespace {

struct Guest {
    std::string name;
    std::function<void(Guest&)> at_the_end = [](Guest&) {};
    Links<Guest> wait_links{};
    Wait wait = Wait::nothing;
    Instant wait_until{};
    void time_is_up() { at_the_end(*this); }
};

constexpr Instant start{};

class Patient : public testing::Test {
protected:
    Patient() {
        patience.set(Wait::head, 10s);
        patience.set(Wait::body, 3s);
    }
    Guest guest(std::string name) {
        return {.name = std::move(name),
                .at_the_end = [this](Guest& g) { ended.push_back(g.name); }};
    }

    Patience<Guest> patience;
    std::vector<std::string> ended;
};

using Names = std::vector<std::string>;

TEST_F(Patient, WaitsForTheWholeTimeOfItsKind) {
    Guest a = guest("a");
    patience.wait_for(a, Wait::head, start);
    EXPECT_EQ(a.wait, Wait::head);
    patience.look(start + 10s - 1ns);
    EXPECT_EQ(ended, Names{});
    patience.look(start + 10s);
    EXPECT_EQ(ended, Names{"a"});
    EXPECT_EQ(a.wait, Wait::nothing);
    patience.look(start + 100s);
    EXPECT_EQ(ended, Names{"a"}) << "once";
}

TEST_F(Patient, EndsWaitsInTheOrderInWhichTheyBegan) {
    Guest a = guest("a");
    Guest b = guest("b");
    Guest c = guest("c");
    patience.wait_for(b, Wait::head, start);
    patience.wait_for(a, Wait::head, start + 1s);
    patience.wait_for(c, Wait::head, start + 2s);
    EXPECT_EQ(patience.longest(Wait::head), &b);
    patience.look(start + 11s);
    EXPECT_EQ(ended, (Names{"b", "a"}));
    EXPECT_EQ(patience.longest(Wait::head), &c);
    EXPECT_EQ(patience.longest(Wait::body), nullptr);
}

TEST_F(Patient, JudgesEachKindByItsOwnTime) {
    Guest a = guest("a");
    Guest b = guest("b");
    patience.wait_for(a, Wait::head, start);
    patience.wait_for(b, Wait::body, start + 1s);
    patience.look(start + 4s);
    EXPECT_EQ(ended, Names{"b"});
}

TEST_F(Patient, BeginsAnewWhenSomethingElseIsWaitedFor) {
    Guest a = guest("a");
    patience.wait_for(a, Wait::head, start);
    patience.wait_for(a, Wait::body, start + 9s);
    patience.look(start + 11s);
    EXPECT_EQ(ended, Names{});
    EXPECT_EQ(patience.longest(Wait::head), nullptr);
    patience.wait_for(a, Wait::body, start + 11s);
    patience.look(start + 13s);
    EXPECT_EQ(ended, Names{});
    patience.wait_for(a, Wait::nothing, start + 13s);
    patience.look(start + 1000s);
    EXPECT_EQ(ended, Names{});
    EXPECT_EQ(patience.longest(Wait::body), nullptr);
}

TEST_F(Patient, LetsAGuestWaitAnewWhenItsTimeIsUp) {
    Guest a = guest("a");
    a.at_the_end = [&](Guest& g) {
        ended.push_back("a");
        patience.wait_for(g, Wait::head, start + 10s);
    };
    patience.wait_for(a, Wait::head, start);
    patience.look(start + 10s);
    EXPECT_EQ(ended, Names{"a"});
    EXPECT_EQ(a.wait, Wait::head);
    patience.look(start + 19s);
    EXPECT_EQ(ended, Names{"a"});
    patience.look(start + 20s);
    EXPECT_EQ(ended, (Names{"a", "a"}));
}

TEST_F(Patient, IsNotCaughtByAGuestThatAlwaysWaitsAnew) {
    patience.set(Wait::closing, 0s);
    Guest a = guest("a");
    Guest b = guest("b");
    a.at_the_end = b.at_the_end = [&](Guest& g) {
        ended.push_back(g.name);
        patience.wait_for(g, Wait::closing, start);
    };
    patience.wait_for(a, Wait::closing, start);
    patience.wait_for(b, Wait::closing, start);
    patience.look(start);
    EXPECT_EQ(ended, (Names{"a", "b"}));
}

TEST_F(Patient, LetsAGuestSendAnotherAway) {
    Guest a = guest("a");
    Guest b = guest("b");
    Guest c = guest("c");
    a.at_the_end = [&](Guest&) {
        ended.push_back("a");
        patience.wait_for(b, Wait::nothing, start);
    };
    for (Guest* each : {&a, &b, &c}) patience.wait_for(*each, Wait::head, start);
    patience.look(start + 10s);
    EXPECT_EQ(ended, (Names{"a", "c"}));
}

TEST_F(Patient, CanWaitForEver) {
    patience.set(Wait::request, Duration::max());
    Guest a = guest("a");
    patience.wait_for(a, Wait::request, start + 1h);
    patience.look(start + 100'000h);
    EXPECT_EQ(ended, Names{});
}

}  // namespace
}  // namespace turnpike
