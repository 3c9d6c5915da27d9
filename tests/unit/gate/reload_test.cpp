// The routes that start a reload, and what /-/status shows about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/control.h"
#include "gate/reload_page.h"
#include "tests/unit/gate/pages_fixture.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PoolConfig started(std::string name, std::uint32_t lanes) {
    PoolConfig pool{.name = std::move(name)};
    pool.worker.command = "serve {port}";
    pool.settings.lanes = lanes;
    return pool;
}

PoolConfig attached(std::string name) {
    PoolConfig pool{.name = std::move(name)};
    pool.attach = {{.text = "http://h:1"}};
    return pool;
}

/// Three pools, of which Turnpike starts the first and the last.
struct ReloadFixture : PagesFixture {
    ReloadFixture()
        : PagesFixture({.pools = {started("chat", 2), attached("far"), started("draw", 1)}}) {
        deps.reload_of = [this](PoolId) { return reload ? &*reload : nullptr; };
        deps.reload = [this](PoolId pool, const ReloadOrder& order) { return begin(pool, order); };
    }
    std::expected<ReloadBegun, std::string> begin(PoolId pool, const ReloadOrder& order) {
        if (!config.pools[pool.value].is_started()) return std::unexpected("not ours");
        asked.push_back(config.pools[pool.value].name + (order.accept ? " accepted" : ""));
        return ReloadBegun{.generation = {4 + pool.value}, .kind = ReloadKind::in_place};
    }
    std::string shown(const Caller& caller) {
        std::string text;
        JsonWriter json(text);
        append_reload(json, deps, engine.view(clock.now()), PoolId{0}, caller);
        return text;
    }

    std::vector<std::string> asked;
    std::optional<ReloadFacts> reload;
};

TEST(ReloadRoutes, SayWhatWasBegun) {
    ReloadFixture fixture;
    const OwnAnswered answer = fixture.post("/-/pools/draw/reload");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body,
              "{\"pool\":\"draw\",\"generation\":6,\"kind\":\"in_place\",\"asked\":\"reload\"}\n");
    EXPECT_THAT(fixture.asked, ElementsAre("draw"));
}

TEST(ReloadRoutes, ReloadEveryPoolThatIsOurs) {
    ReloadFixture fixture;
    const OwnAnswered answer = fixture.post("/-/reload");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body,
              "{\"asked\":\"reload\",\"pools\":[{\"pool\":\"chat\",\"generation\":4,\"kind\":\"in_"
              "place\",\"asked\":\"reload\"},{\"pool\":\"draw\",\"generation\":6,\"kind\":\"in_"
              "place\",\"asked\":\"reload\"}]}\n");
    EXPECT_THAT(fixture.asked, ElementsAre("chat", "draw"));
}

TEST(ReloadRoutes, PassOnThatTheProofMayDiffer) {
    ReloadFixture fixture;
    ASSERT_TRUE(fixture.post("/-/pools/chat/reload?accept=1"));
    ASSERT_TRUE(fixture.post("/-/reload?accept=1"));
    EXPECT_THAT(fixture.asked, ElementsAre("chat accepted", "chat accepted", "draw accepted"));
}

TEST(ReloadRoutes, RefuseWhatMakesNoSense) {
    ReloadFixture fixture;
    const auto problem = [&](std::string_view target) {
        return fixture.post(target).error().problem;
    };
    EXPECT_EQ(problem("/-/pools/far/reload"), Problem::no_reload);
    EXPECT_EQ(problem("/-/pools/nobody/reload"), Problem::no_pool);
    EXPECT_EQ(problem("/-/pools/chat/reload?accept=2"), Problem::bad_query);
    EXPECT_EQ(problem("/-/reload?now"), Problem::bad_query);
    fixture.config.pools = {attached("far")};
    EXPECT_EQ(problem("/-/reload"), Problem::no_reload);
    EXPECT_THAT(fixture.asked, IsEmpty());
}

TEST(ReloadPage, IsNullUntilThereWasOne) {
    ReloadFixture fixture;
    EXPECT_EQ(fixture.shown(fixture.admin), "null");
}

TEST(ReloadPage, TellsAdminsWhyItWasAbandoned) {
    ReloadFixture fixture;
    const Instant now = fixture.clock.now();
    fixture.reload = {.generation = {2},
                      .kind = ReloadKind::beside,
                      .order = {.files = {"/home/me/model.py"}},
                      .began = now - 400ms,
                      .ended = now,
                      .end = ReloadEnd::abandoned,
                      .trouble = "exit code 1\nTraceback"};
    EXPECT_EQ(fixture.shown(fixture.admin),
              "{\"generation\":2,\"state\":\"abandoned\",\"kind\":\"beside\",\"why\":\"model.py "
              "changed\",\"files\":[\"/home/me/model.py\"],\"took_s\":0.4,\"lanes\":2,\"lanes_"
              "switched\":0,\"trouble\":\"exit code 1\\nTraceback\"}");
    const std::string for_others = fixture.shown({});
    EXPECT_THAT(for_others, HasSubstr("\"state\":\"abandoned\""));
    EXPECT_THAT(for_others, HasSubstr("\"trouble\":null"));
    EXPECT_THAT(for_others, Not(HasSubstr("/home/me")));
}

}  // namespace
}  // namespace turnpike
