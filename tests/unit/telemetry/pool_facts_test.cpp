#include "telemetry/pool_facts.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

constexpr Generation third{3};

TEST(ReloadFacts, TellTheirStateFromTheEnginesView) {
    ReloadFacts reload{.generation = third, .order = {}, .began = Instant{}, .trouble = {}};
    EXPECT_EQ(state_of(reload, {.good = {1}, .reloading = {}, .counts = {}}), ReloadState::waiting);
    EXPECT_EQ(state_of(reload, {.good = {1}, .reloading = {2}, .counts = {}}),
              ReloadState::waiting);
    EXPECT_EQ(state_of(reload, {.good = {1}, .reloading = third, .counts = {}}),
              ReloadState::trying);
    EXPECT_EQ(state_of(reload, {.good = third, .reloading = third, .counts = {}}),
              ReloadState::spreading);
    reload.ended = Instant{} + 1s;
    EXPECT_EQ(state_of(reload, {.counts = {}}), ReloadState::done);
    reload.end = ReloadEnd::abandoned;
    EXPECT_EQ(state_of(reload, {.counts = {}}), ReloadState::abandoned);
}

TEST(ReloadFacts, NameTheFilesThatLedToIt) {
    EXPECT_EQ(cause_text({}), "asked for");
    EXPECT_EQ(cause_text({.files = {"/a/model.py"}}), "model.py changed");
    EXPECT_EQ(cause_text({.files = {"/a/model.py", "b.py"}}), "model.py, b.py changed");
    EXPECT_EQ(cause_text({.files = {"/a", "/b", "/c", "/d"}}), "a, b and 2 more changed");
}

TEST(ReloadFacts, CountTheLanesThatAreOn) {
    const ReloadFacts reload{.generation = third, .order = {}, .trouble = {}};
    const auto lane = [](LaneState state, Generation generation, PoolId pool = {1}) {
        return LaneView{.pool = pool, .state = state, .generation = generation};
    };
    const View view{.pools = {},
                    .lanes = {lane(LaneState::ready, third), lane(LaneState::busy, {2}),
                              lane(LaneState::loading, third), lane(LaneState::failed, third),
                              lane(LaneState::drained, {2}), lane(LaneState::ready, third, {0})}};
    const LanesSwitched count = lanes_switched(reload, view, PoolId{1});
    EXPECT_EQ(count.switched, 1U);
    EXPECT_EQ(count.all, 3U);
}

}  // namespace
}  // namespace turnpike
