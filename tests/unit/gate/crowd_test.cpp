#include "gate/crowd.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
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

TEST(Crowd, KeepsAnIdleConnectionOnWhichARequestHasCome) {
    Stand stand;
    Thing& first = stand.add(1, Standing::idle);
    Thing& second = stand.add(1, Standing::idle);
    first.has_input = true;
    EXPECT_EQ(stand.crowd.first_of_most(), &second);
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
