// The routes that ask for a reload, and what /-/status shows of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gate/control.h"
#include "gate/reload_page.h"

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

/// Three pools, of which the second is not ours.
struct Desk {
    OwnAnswered ask(std::string_view target) {
        const FoundRoute found = find_route(http::Method::post, target);
        if (found.route == nullptr) return refuse(found.problem);
        EXPECT_EQ(found.route->rule, Rule::admin);
        return found.route->answer(
            {.deps = deps, .caller = admin, .name = found.name, .query = found.query});
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

    Config config{.pools = {started("chat", 2), attached("far"), started("draw", 1)}};
    Engine engine{engine_settings(config, 1)};
    RecentJobs recent;
    Exchanges exchanges;
    std::vector<LaneFacts> facts{4};
    CrashShelf crashes{1};
    JobNames names{1};
    Clock clock;
    Caller admin{.is_admin = true};
    std::vector<std::string> asked;
    std::optional<ReloadFacts> reload;
    OwnRouteDeps deps{
        .config = config,
        .engine = engine,
        .recent = recent,
        .exchanges = exchanges,
        .lanes = facts,
        .crashes = crashes,
        .log_of = [](std::size_t) { return nullptr; },
        .names = names,
        .clock = clock,
        .started = clock.now(),
        .address = "http://127.0.0.1:8000",
        .find_live = [](JobId) { return nullptr; },
        .for_each_live = [](const auto&) {},
        .order = [](const Event&) {},
        .reload_of = [this](PoolId) { return reload ? &*reload : nullptr; },
        .reload = [this](PoolId pool, const ReloadOrder& order) { return begin(pool, order); }};
};

TEST(ReloadRoutes, SayWhatWasBegun) {
    Desk desk;
    const OwnAnswered answer = desk.ask("/-/pools/draw/reload");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body,
              "{\"pool\":\"draw\",\"generation\":6,\"kind\":\"in_place\",\"asked\":\"reload\"}\n");
    EXPECT_THAT(desk.asked, ElementsAre("draw"));
}

TEST(ReloadRoutes, ReloadEveryPoolThatIsOurs) {
    Desk desk;
    const OwnAnswered answer = desk.ask("/-/reload");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body,
              "{\"asked\":\"reload\",\"pools\":[{\"pool\":\"chat\",\"generation\":4,\"kind\":\"in_"
              "place\",\"asked\":\"reload\"},{\"pool\":\"draw\",\"generation\":6,\"kind\":\"in_"
              "place\",\"asked\":\"reload\"}]}\n");
    EXPECT_THAT(desk.asked, ElementsAre("chat", "draw"));
}

TEST(ReloadRoutes, PassOnThatTheProofMayDiffer) {
    Desk desk;
    ASSERT_TRUE(desk.ask("/-/pools/chat/reload?accept=1"));
    ASSERT_TRUE(desk.ask("/-/reload?accept=1"));
    EXPECT_THAT(desk.asked, ElementsAre("chat accepted", "chat accepted", "draw accepted"));
}

TEST(ReloadRoutes, RefuseWhatMakesNoSense) {
    Desk desk;
    const auto problem = [&](std::string_view target) { return desk.ask(target).error().problem; };
    EXPECT_EQ(problem("/-/pools/far/reload"), Problem::no_reload);
    EXPECT_EQ(problem("/-/pools/nobody/reload"), Problem::no_pool);
    EXPECT_EQ(problem("/-/pools/chat/reload?accept=2"), Problem::bad_query);
    EXPECT_EQ(problem("/-/reload?now"), Problem::bad_query);
    desk.config.pools = {attached("far")};
    EXPECT_EQ(problem("/-/reload"), Problem::no_reload);
    EXPECT_THAT(desk.asked, IsEmpty());
}

TEST(ReloadPage, IsNullUntilThereWasOne) {
    Desk desk;
    EXPECT_EQ(desk.shown(desk.admin), "null");
}

TEST(ReloadPage, TellsAdminsWhyItWasAbandoned) {
    Desk desk;
    const Instant now = desk.clock.now();
    desk.reload = {.generation = {2},
                   .kind = ReloadKind::beside,
                   .order = {.files = {"/home/me/model.py"}},
                   .began = now - 400ms,
                   .ended = now,
                   .end = ReloadEnd::abandoned,
                   .trouble = "exit code 1\nTraceback"};
    EXPECT_EQ(desk.shown(desk.admin),
              "{\"generation\":2,\"state\":\"abandoned\",\"kind\":\"beside\",\"why\":\"model.py "
              "changed\",\"files\":[\"/home/me/model.py\"],\"took_s\":0.4,\"lanes\":2,\"lanes_"
              "switched\":0,\"trouble\":\"exit code 1\\nTraceback\"}");
    const std::string for_others = desk.shown({});
    EXPECT_THAT(for_others, HasSubstr("\"state\":\"abandoned\""));
    EXPECT_THAT(for_others, HasSubstr("\"trouble\":null"));
    EXPECT_THAT(for_others, Not(HasSubstr("/home/me")));
}

}  // namespace
}  // namespace turnpike
