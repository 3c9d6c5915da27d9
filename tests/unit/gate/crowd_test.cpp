#include "gate/crowd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace turnpike {
namespace {

struct Thing {
    Thing(std::uint64_t of, Standing how) : standing(how), of_(of) {}

    Links<Thing> crowd_links;
    Standing standing;
    bool has_input = false;
    [[nodiscard]] ClientId client() const { return ClientId{of_}; }
    [[nodiscard]] bool has_input_waiting() const { return has_input; }

private:
    std::uint64_t of_;
};

struct Stand {
    Thing& add(std::uint64_t client, Standing standing) {
        things.emplace_back(client, standing);
        crowd.add(things.back());
        return things.back();
    }

    std::deque<Thing> things;
    Crowd<Thing> crowd;
};

TEST(Crowd, PushesOutTheLongestIdleThenTheOldestHeadThenTheOldestUpload) {
    Stand stand;
    std::vector<Thing*> due;
    Thing& upload = stand.add(1, Standing::uploading);
    Thing& head = stand.add(1, Standing::head);
    Thing& younger = stand.add(1, Standing::head);
    Thing& closing = stand.add(1, Standing::closing);
    Thing& idle = stand.add(1, Standing::idle);
    stand.add(1, Standing::busy);
    for (Thing* const first : {&idle, &closing, &head, &younger, &upload}) {
        EXPECT_EQ(stand.crowd.first_of_most(), first);
        stand.crowd.remove(*first);
    }
    EXPECT_EQ(stand.crowd.first_of_most(), nullptr) << "a busy one stays";
    EXPECT_FALSE(stand.crowd.has_removable());
}

TEST(Crowd, PushesOutWhoHasMost) {
    Stand stand;
    stand.add(1, Standing::idle);
    stand.add(2, Standing::head);
    Thing& oldest_of_most = stand.things.back();
    stand.add(2, Standing::head);
    EXPECT_EQ(stand.crowd.first_of_most(), &oldest_of_most);
    EXPECT_EQ(stand.crowd.clients(), 2U);
    EXPECT_EQ(stand.crowd.count(ClientId{2}), 2U);
    EXPECT_EQ(stand.crowd.count(ClientId{7}), 0U);
}

TEST(Crowd, LooksAtTheNextClientIfTheFirstHasOnlyBusyOnes) {
    Stand stand;
    for (int i = 0; i < 3; ++i) stand.add(1, Standing::busy);
    Thing& other = stand.add(2, Standing::idle);
    EXPECT_EQ(stand.crowd.first_of_most(), &other);
    EXPECT_EQ(stand.crowd.first_of(ClientId{1}), nullptr);
}

TEST(Crowd, FindsAConnectionBehindAnyNumberOfClientsThatAreBusy) {
    Stand stand;
    for (std::uint64_t client = 1; client <= 100; ++client)
        for (int i = 0; i < 3; ++i) stand.add(client, Standing::busy);
    Thing& other = stand.add(101, Standing::head);
    EXPECT_EQ(stand.crowd.first_of_most(), &other);
    EXPECT_EQ(stand.crowd.clients(), 101U);

    // The same if they become busy one after the other, and if one of them is not busy any more.
    for (Thing& thing : stand.things) stand.crowd.stands(thing, Standing::idle);
    for (Thing& thing : stand.things)
        if (&thing != &other) stand.crowd.stands(thing, Standing::busy);
    EXPECT_EQ(stand.crowd.first_of_most(), &other);
    Thing& again = stand.things[150];
    stand.crowd.stands(again, Standing::uploading);
    EXPECT_EQ(stand.crowd.first_of_most(), &again) << "its client has more";
}

/// Compares every choice with one that looks at everything.
TEST(Crowd, ChoosesTheClientWithMostOfThoseThatHaveAConnectionToLose) {
    Stand stand;
    std::mt19937_64 random(18);
    std::vector<Thing*> here;
    const auto pick = [&](std::uint64_t below) { return random() % below; };
    for (int round = 0; round < 20'000; ++round) {
        const auto standing = static_cast<Standing>(pick(standings));
        if (const std::uint64_t what = pick(4); what == 0 && here.size() < 200) {
            here.push_back(&stand.add(pick(30), standing));
        } else if (what == 1 && !here.empty()) {
            std::swap(here[pick(here.size())], here.back());
            stand.crowd.remove(*here.back());
            here.pop_back();
        } else if (!here.empty()) {
            stand.crowd.stands(*here[pick(here.size())], standing);
        }
        if (pick(3) != 0) continue;  // so that ranks get old
        std::map<std::uint64_t, std::size_t> counts;
        std::size_t most = 0;
        for (const Thing* thing : here) ++counts[thing->client().value];
        for (const Thing* thing : here)
            if (thing->standing != Standing::busy)
                most = std::max(most, counts[thing->client().value]);
        Thing* const first = stand.crowd.first_of_most();
        ASSERT_EQ(first != nullptr, most > 0);
        ASSERT_EQ(stand.crowd.has_removable(), most > 0);
        ASSERT_EQ(stand.crowd.clients(), counts.size());
        if (first != nullptr) {
            ASSERT_EQ(counts[first->client().value], most);
            ASSERT_NE(first->standing, Standing::busy);
        }
    }
}

TEST(Crowd, KeepsAnIdleConnectionOnWhichARequestHasCome) {
    Stand stand;
    Thing& first = stand.add(1, Standing::idle);
    Thing& second = stand.add(1, Standing::idle);
    first.has_input = true;
    EXPECT_EQ(stand.crowd.first_of_most(), &second);
    second.has_input = true;
    EXPECT_EQ(stand.crowd.first_of_most(), &first) << "one has to go, so the longest idle one";
}

TEST(Crowd, FollowsWhatAConnectionDoes) {
    Stand stand;
    Thing& thing = stand.add(1, Standing::idle);
    stand.crowd.stands(thing, Standing::busy);
    EXPECT_EQ(stand.crowd.first_of_most(), nullptr);
    stand.crowd.stands(thing, Standing::uploading);
    EXPECT_EQ(stand.crowd.first_of_most(), &thing);
    stand.crowd.remove(thing);
    EXPECT_EQ(stand.crowd.clients(), 0U);
}

TEST(Crowd, ServesAClientThatTakesANumberOfAnother) {
    Stand stand;
    Thing& first = stand.add(3, Standing::head);
    stand.crowd.remove(first);
    Thing& second = stand.add(3, Standing::idle);
    EXPECT_EQ(stand.crowd.first_of_most(), &second);
}

}  // namespace
}  // namespace turnpike
