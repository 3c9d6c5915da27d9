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
#include "tests/unit/gate/pages_fixture.h"

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

/// Two pools with three lanes.
struct ControlFixture : PagesFixture {
    ControlFixture()
        : PagesFixture({.pools = {pool_of("chat", 1), pool_of("draw", 2, ProofKind::fixed)}}) {}

    /// Returns the lanes of all orders of this kind.
    template <class What>
    [[nodiscard]] std::vector<std::uint64_t> lanes() const {
        std::vector<std::uint64_t> all;
        for (const Event& event : orders)
            if (const auto* order = std::get_if<What>(&event)) all.push_back(order->lane.value);
        return all;
    }
};

TEST(Control, PassesTheOrdersForALaneOn) {
    ControlFixture fixture;
    for (const std::string what : {"restart", "drain", "resume"}) {
        const OwnAnswered answer = fixture.post("/-/lanes/2/" + what);
        ASSERT_TRUE(answer) << what;
        EXPECT_EQ(answer->status, 202);
        EXPECT_EQ(answer->body, "{\"lane\":2,\"asked\":\"" + what + "\"}\n");
    }
    EXPECT_THAT(fixture.lanes<RestartAsked>(), ElementsAre(2));
    EXPECT_THAT(fixture.lanes<DrainAsked>(), ElementsAre(2));
    EXPECT_THAT(fixture.lanes<ResumeAsked>(), ElementsAre(2));
}

TEST(Control, RestartsEveryLaneOfAPool) {
    ControlFixture fixture;
    const OwnAnswered answer = fixture.post("/-/pools/draw/restart");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "{\"pool\":\"draw\",\"asked\":\"restart\",\"lanes\":[1,2]}\n");
    EXPECT_THAT(fixture.lanes<RestartAsked>(), ElementsAre(1, 2));
}

TEST(Control, OrdersAPoolToBeProved) {
    ControlFixture fixture;
    const OwnAnswered answer = fixture.post("/-/pools/draw/prove");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "{\"pool\":\"draw\",\"asked\":\"prove\",\"lanes\":[1,2]}\n");
    ASSERT_EQ(fixture.orders.size(), 1U);
    EXPECT_EQ(std::get<ProveAsked>(fixture.orders[0]).pool, PoolId{1});
}

TEST(Control, SaysThatAPoolHasNoProof) {
    ControlFixture fixture;
    const OwnAnswered answer = fixture.post("/-/pools/chat/prove");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().problem, Problem::no_proof);
    EXPECT_THAT(fixture.orders, IsEmpty());
}

TEST(Control, OrdersAProofIfWorkersHaveAnExample) {
    ControlFixture fixture;
    Actions actions;
    fixture.engine.handle(GateOpened{}, fixture.clock.now(), actions);
    const WorkerId worker = fixture.engine.view(fixture.clock.now()).lanes[0].current;
    fixture.engine.handle(
        WorkerReady{.worker = worker, .slots = 2, .batch = 8, .has_example = true},
        fixture.clock.now(), actions);
    EXPECT_TRUE(fixture.post("/-/pools/chat/prove"));
    EXPECT_EQ(fixture.orders.size(), 1U);
    const std::string status = status_page(fixture.deps, fixture.admin);
    EXPECT_THAT(status, HasSubstr(R"("slots":2,"batch":8)"));
    EXPECT_THAT(status, HasSubstr(R"("proof":"pending")"));
    EXPECT_THAT(status, Not(HasSubstr(R"("proof":"none")")));
}

TEST(Control, TellsWhichLanesThereAreWhenOneIsUnknown) {
    ControlFixture fixture;
    for (const std::string lane : {"3", "-1", "x", "0x1", "1.0", "+1", "99999999999999999999"})
        for (const std::string what : {"restart", "drain", "resume", "stacks"}) {
            const OwnAnswered answer = fixture.post("/-/lanes/" + lane + "/" + what);
            ASSERT_FALSE(answer) << lane << " " << what;
            EXPECT_EQ(answer.error().problem, Problem::no_lane_of_that_name);
            EXPECT_EQ(answer.error().detail, "There are lanes 0 to 2.");
        }
    EXPECT_THAT(fixture.orders, IsEmpty());
}

TEST(Control, TellsWhichPoolsThereAreWhenOneIsUnknown) {
    ControlFixture fixture;
    for (const std::string what : {"restart", "prove"}) {
        const OwnAnswered answer = fixture.post("/-/pools/daw/" + what);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().problem, Problem::no_pool);
        EXPECT_EQ(answer.error().detail, "The pools are: chat, draw.");
    }
    EXPECT_THAT(fixture.orders, IsEmpty());
}

TEST(Control, RefusesOrdersWhileTheGateShutsDown) {
    ControlFixture fixture;
    Actions actions;
    fixture.engine.handle(ShutdownAsked{1h}, fixture.clock.now(), actions);
    for (const std::string target : {"/-/lanes/0/restart", "/-/lanes/0/resume",
                                     "/-/pools/draw/restart", "/-/pools/draw/prove"})
        EXPECT_EQ(fixture.post(target).error().problem, Problem::shutting_down) << target;
    EXPECT_THAT(fixture.orders, IsEmpty());
}

TEST(Control, DumpsTheStacksOfALaneOrSaysWhyNot) {
    ControlFixture fixture;
    EXPECT_EQ(fixture.post("/-/lanes/1/stacks").error().problem, Problem::no_stacks);
    std::optional<std::string> why_not;
    std::vector<LaneId> asked;
    fixture.deps.dump_stacks = [&](LaneId lane) {
        asked.push_back(lane);
        return why_not;
    };
    const OwnAnswered answer = fixture.post("/-/lanes/1/stacks");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "{\"lane\":1,\"asked\":\"stacks\"}\n");
    why_not = "py-spy is not installed";
    const OwnAnswered refused = fixture.post("/-/lanes/0/stacks");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().problem, Problem::no_stacks);
    EXPECT_EQ(refused.error().detail, "py-spy is not installed");
    EXPECT_THAT(asked, ElementsAre(LaneId{1}, LaneId{0}));
}

// ── what status shows about a lane's worker ──────────────────────────────────────────────────────

std::string shown(ControlFixture& fixture) { return status_page(fixture.deps, fixture.admin); }

TEST(StatusPage, ShowsGpusProcessAndStartOfALane) {
    ControlFixture fixture;
    fixture.facts[0] = {.worker = "python3 a.py",
                        .gpus = {{.index = 3,
                                  .uuid = "GPU-1",
                                  .name = "NVIDIA H200",
                                  .memory_total = Bytes{100},
                                  .memory_used = Bytes{40}}},
                        .now = {.pid = 4711,
                                .last_exit = "killed by SIGKILL",
                                .start = {.spawn = 3ms, .listen = 1200us}}};
    EXPECT_THAT(shown(fixture),
                AllOf(HasSubstr(R"("gpus":[{"index":3,"uuid":"GPU-1","name":"NVIDIA H200",)"
                                R"("memory_total":100,"memory_used":40}])"),
                      HasSubstr(R"("worker":"python3 a.py","pid":4711,)"),
                      HasSubstr(R"("last_exit":"killed by SIGKILL")"),
                      HasSubstr(R"("start":{"spawn_ms":3,"listen_ms":1.2,"load_ms":null,)"
                                R"("proof_ms":null,"first_job_ms":null})")));
    boost::json::error_code error;
    boost::json::parse(shown(fixture), error);
    EXPECT_FALSE(error);
}

TEST(StatusPage, SaysNullForUnknownFacts) {
    ControlFixture fixture;
    fixture.facts[0].gpus = {{}};
    EXPECT_THAT(
        shown(fixture),
        AllOf(HasSubstr(R"({"index":null,"uuid":"","name":"","memory_total":0,)"
                        R"("memory_used":null})"),
              HasSubstr(
                  R"("pid":null,"last_exit":null,"remark":null,"trouble":null,"last_line":null)"),
              HasSubstr(R"("starting_s":null)")));
}

TEST(StatusPage, ShowsHowLongALaneHasBeenStarting) {
    ControlFixture fixture;
    fixture.facts[0].now.started_at = fixture.clock.now() - 1500ms;
    EXPECT_THAT(shown(fixture), HasSubstr(R"("starting_s":1.5})"));
}

TEST(StatusPage, ShowsTheOutputOfWorkersToAdminsOnly) {
    ControlFixture fixture;
    fixture.facts[0].now.last_line = "loading a secret";
    EXPECT_THAT(shown(fixture), HasSubstr(R"("last_line":"loading a secret")"));
    EXPECT_THAT(status_page(fixture.deps, Caller{}), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace turnpike
