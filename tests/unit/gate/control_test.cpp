#include "gate/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>

#include "gate/pages.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PoolConfig pool_of(std::string name, std::uint32_t lanes, ProofKind proof = ProofKind::none) {
    PoolConfig pool{.name = std::move(name)};
    pool.settings.lanes = lanes;
    pool.settings.proof = proof;
    return pool;
}

/// Two pools of three lanes, of which nobody but the test hears.
struct Desk {
    OwnAnswered ask(std::string_view target) {
        const FoundRoute found = find_route(http::Method::post, target);
        if (found.route == nullptr) return refuse(found.problem);
        return found.route->answer(
            {.deps = deps, .caller = caller, .name = found.name, .query = found.query});
    }
    /// What the orders were about.
    template <class What>
    std::vector<std::uint64_t> lanes() const {
        std::vector<std::uint64_t> all;
        for (const Event& event : orders)
            if (const auto* order = std::get_if<What>(&event)) all.push_back(order->lane.value);
        return all;
    }

    Config config{.pools = {pool_of("chat", 1), pool_of("draw", 2, ProofKind::fixed)}};
    Engine engine{engine_settings(config, 1)};
    RecentJobs recent;
    Exchanges exchanges;
    std::vector<LaneFacts> facts{3};
    CrashShelf crashes{1};
    JobNames names{1};
    Clock clock;
    Caller caller{.is_admin = true};
    std::vector<Event> orders;
    OwnRouteDeps deps{.config = config,
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
                      .order = [this](const Event& event) { orders.push_back(event); }};
};

TEST(Control, PassesTheOrdersForALaneOn) {
    Desk desk;
    for (const std::string what : {"restart", "drain", "resume"}) {
        const OwnAnswered answer = desk.ask("/-/lanes/2/" + what);
        ASSERT_TRUE(answer) << what;
        EXPECT_EQ(answer->status, 202);
        EXPECT_EQ(answer->body, "{\"lane\":2,\"asked\":\"" + what + "\"}\n");
    }
    EXPECT_THAT(desk.lanes<RestartAsked>(), ElementsAre(2));
    EXPECT_THAT(desk.lanes<DrainAsked>(), ElementsAre(2));
    EXPECT_THAT(desk.lanes<ResumeAsked>(), ElementsAre(2));
}

TEST(Control, RestartsEveryLaneOfAPool) {
    Desk desk;
    const OwnAnswered answer = desk.ask("/-/pools/draw/restart");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "{\"pool\":\"draw\",\"asked\":\"restart\",\"lanes\":[1,2]}\n");
    EXPECT_THAT(desk.lanes<RestartAsked>(), ElementsAre(1, 2));
}

TEST(Control, LetsAPoolProveItself) {
    Desk desk;
    const OwnAnswered answer = desk.ask("/-/pools/draw/prove");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "{\"pool\":\"draw\",\"asked\":\"prove\",\"lanes\":[1,2]}\n");
    ASSERT_EQ(desk.orders.size(), 1U);
    EXPECT_EQ(std::get<ProveAsked>(desk.orders[0]).pool, PoolId{1});
}

TEST(Control, SaysThatAPoolHasNoProof) {
    Desk desk;
    const OwnAnswered answer = desk.ask("/-/pools/chat/prove");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().problem, Problem::no_proof);
    EXPECT_THAT(desk.orders, IsEmpty());
}

TEST(Control, LetsWorkersProveThemselvesByTheirExample) {
    Desk desk;
    Actions actions;
    desk.engine.handle(GateOpened{}, desk.clock.now(), actions);
    const WorkerId worker = desk.engine.view(desk.clock.now()).lanes[0].current;
    desk.engine.handle(WorkerReady{.worker = worker, .slots = 2, .batch = 8, .has_example = true},
                       desk.clock.now(), actions);
    EXPECT_TRUE(desk.ask("/-/pools/chat/prove"));
    EXPECT_EQ(desk.orders.size(), 1U);
    const std::string status = status_page(desk.deps, desk.caller);
    EXPECT_THAT(status, HasSubstr(R"("slots":2,"batch":8)"));
    EXPECT_THAT(status, HasSubstr(R"("proof":"pending")"));
    EXPECT_THAT(status, Not(HasSubstr(R"("proof":"none")")));
}

TEST(Control, TellsWhichLanesThereAreWhenOneIsUnknown) {
    Desk desk;
    for (const std::string lane : {"3", "-1", "x", "0x1", "1.0", "+1", "99999999999999999999"})
        for (const std::string what : {"restart", "drain", "resume", "stacks"}) {
            const OwnAnswered answer = desk.ask("/-/lanes/" + lane + "/" + what);
            ASSERT_FALSE(answer) << lane << " " << what;
            EXPECT_EQ(answer.error().problem, Problem::no_lane_of_that_name);
            EXPECT_EQ(answer.error().detail, "There are lanes 0 to 2.");
        }
    EXPECT_THAT(desk.orders, IsEmpty());
}

TEST(Control, TellsWhichPoolsThereAreWhenOneIsUnknown) {
    Desk desk;
    for (const std::string what : {"restart", "prove"}) {
        const OwnAnswered answer = desk.ask("/-/pools/daw/" + what);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().problem, Problem::no_pool);
        EXPECT_EQ(answer.error().detail, "The pools are: chat, draw.");
    }
    EXPECT_THAT(desk.orders, IsEmpty());
}

TEST(Control, RefusesOrdersWhileTheGateShutsDown) {
    Desk desk;
    Actions actions;
    desk.engine.handle(ShutdownAsked{1h}, desk.clock.now(), actions);
    for (const std::string target : {"/-/lanes/0/restart", "/-/lanes/0/resume",
                                     "/-/pools/draw/restart", "/-/pools/draw/prove"})
        EXPECT_EQ(desk.ask(target).error().problem, Problem::shutting_down) << target;
    EXPECT_THAT(desk.orders, IsEmpty());
}

TEST(Control, DumpsTheStacksOfALaneOrSaysWhyNot) {
    Desk desk;
    EXPECT_EQ(desk.ask("/-/lanes/1/stacks").error().problem, Problem::no_stacks);
    std::optional<std::string> why_not;
    std::vector<LaneId> asked;
    desk.deps.dump_stacks = [&](LaneId lane) {
        asked.push_back(lane);
        return why_not;
    };
    const OwnAnswered answer = desk.ask("/-/lanes/1/stacks");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "{\"lane\":1,\"asked\":\"stacks\"}\n");
    why_not = "py-spy is not installed";
    const OwnAnswered refused = desk.ask("/-/lanes/0/stacks");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().problem, Problem::no_stacks);
    EXPECT_EQ(refused.error().detail, "py-spy is not installed");
    EXPECT_THAT(asked, ElementsAre(LaneId{1}, LaneId{0}));
}

// ── what status shows of a lane's worker ─────────────────────────────────────────────────────────

std::string shown(Desk& desk) { return status_page(desk.deps, desk.caller); }

TEST(StatusPage, ShowsGpusProcessAndStartOfALane) {
    Desk desk;
    desk.facts[0] = {.worker = "python3 a.py",
                     .gpus = {{.index = 3,
                               .uuid = "GPU-1",
                               .name = "NVIDIA H200",
                               .memory_total = Bytes{100},
                               .memory_used = Bytes{40}}},
                     .now = {.pid = 4711,
                             .last_exit = "killed by SIGKILL",
                             .start = {.spawn = 3ms, .listen = 1200us}}};
    EXPECT_THAT(shown(desk),
                AllOf(HasSubstr(R"("gpus":[{"index":3,"uuid":"GPU-1","name":"NVIDIA H200",)"
                                R"("memory_total":100,"memory_used":40}])"),
                      HasSubstr(R"("worker":"python3 a.py","pid":4711,)"),
                      HasSubstr(R"("last_exit":"killed by SIGKILL")"),
                      HasSubstr(R"("start":{"spawn_ms":3,"listen_ms":1.2,"load_ms":null,)"
                                R"("proof_ms":null,"first_job_ms":null})")));
    boost::json::error_code error;
    boost::json::parse(shown(desk), error);
    EXPECT_FALSE(error);
}

TEST(StatusPage, SaysNullWhereNothingIsKnown) {
    Desk desk;
    desk.facts[0].gpus = {{}};
    EXPECT_THAT(
        shown(desk),
        AllOf(HasSubstr(R"({"index":null,"uuid":"","name":"","memory_total":0,)"
                        R"("memory_used":null})"),
              HasSubstr(
                  R"("pid":null,"last_exit":null,"remark":null,"trouble":null,"last_line":null)"),
              HasSubstr(R"("starting_s":null)")));
}

TEST(StatusPage, ShowsHowLongALaneHasBeenStarting) {
    Desk desk;
    desk.facts[0].now.started_at = desk.clock.now() - 1500ms;
    EXPECT_THAT(shown(desk), HasSubstr(R"("starting_s":1.5})"));
}

TEST(StatusPage, ShowsTheOutputOfWorkersToAdminsOnly) {
    Desk desk;
    desk.facts[0].now.last_line = "loading a secret";
    EXPECT_THAT(shown(desk), HasSubstr(R"("last_line":"loading a secret")"));
    desk.caller.is_admin = false;
    EXPECT_THAT(shown(desk), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace turnpike
