#include "supervisor/reload/reloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PoolConfig model_pool(ReloadChoice choice = ReloadChoice::automatic) {
    PoolConfig pool{.name = "chat"};
    pool.worker.model = {.kind = ModelChoice::Kind::python, .path = "/a/model.py"};
    pool.worker.reload = choice;
    return pool;
}

PoolConfig http_pool(ReloadChoice choice = ReloadChoice::automatic) {
    PoolConfig pool{.name = "http"};
    pool.worker.command = "serve {port}";
    pool.worker.reload = choice;
    return pool;
}

/// Returns a lane whose GPUs use this many of 1000 bytes each; nullopt if that is not known.
LaneFacts on_gpus(std::initializer_list<std::optional<std::uint64_t>> used) {
    LaneFacts lane;
    for (const auto& bytes : used)
        lane.gpus.push_back({.uuid = "",
                             .name = "",
                             .memory_total = Bytes{1000},
                             .memory_used = bytes.transform([](auto n) { return Bytes{n}; })});
    return lane;
}

ReloadKind kind_on(const LaneFacts& lane, const PoolConfig& pool = model_pool()) {
    const LaneFacts other;
    return reload_kind(pool, {&other, &lane});
}

TEST(ReloadKinds, AreBesideForModelsOnTheCpu) {
    EXPECT_EQ(kind_on({}), ReloadKind::beside);
    EXPECT_EQ(kind_on({}, http_pool()), ReloadKind::in_place);
}

TEST(ReloadKinds, NeedAsMuchMemoryAgainWithATenthToSpare) {
    EXPECT_EQ(kind_on(on_gpus({0})), ReloadKind::beside);
    EXPECT_EQ(kind_on(on_gpus({473})), ReloadKind::beside);
    EXPECT_EQ(kind_on(on_gpus({475})), ReloadKind::in_place) << "525 - 52 are free";
    EXPECT_EQ(kind_on(on_gpus({1000})), ReloadKind::in_place);
    EXPECT_EQ(kind_on(on_gpus({2000})), ReloadKind::in_place) << "nonsense of a driver";
    EXPECT_EQ(kind_on(on_gpus({100, 900})), ReloadKind::in_place) << "on each GPU";
    EXPECT_EQ(kind_on(on_gpus({100, std::nullopt})), ReloadKind::in_place);
}

TEST(ReloadKinds, AreAsTheFileSays) {
    EXPECT_EQ(kind_on(on_gpus({900}), model_pool(ReloadChoice::beside)), ReloadKind::beside);
    EXPECT_EQ(kind_on({}, model_pool(ReloadChoice::in_place)), ReloadKind::in_place);
    EXPECT_EQ(kind_on({}, http_pool(ReloadChoice::beside)), ReloadKind::beside);
}

/// Two pools with one lane each; the second is attached.
struct Stand {
    std::expected<ReloadBegun, std::string> ask(std::vector<std::string> files = {}) {
        return reloads.ask(0, {.files = std::move(files)});
    }
    void start(std::uint64_t worker, Generation generation) {
        const StartWorker action{
            .worker = {worker}, .lane = {0}, .generation = generation, .is_next = true};
        lanes[0].begin(action);
        reloads.observe(action);
    }
    void end(Generation generation, ReloadEnd how) {
        reloads.observe(ReportReload{.pool = {0}, .generation = generation, .end = how});
    }

    void report(LaneState state) { reloads.observe(ReportLane{.lane = {0}, .state = state}); }

    TemporaryFolder folder;
    TestLoop loop;
    Background disk{loop.context(), "tp-test"};
    Clock clock;
    std::vector<PoolConfig> config{model_pool(), PoolConfig{.name = "far"}};
    std::vector<LaneFacts> lanes{2};
    std::vector<PoolFacts> pools{2};
    Generations generations{folder.file(""), config};
    LaneLog log;
    std::vector<Event> events;
    std::vector<std::uint64_t> accepted;
    Reloads reloads{{.loop = loop.context(),
                     .disk = disk,
                     .clock = clock,
                     .config = config,
                     .pool_of = {0, 1},
                     .lanes = lanes,
                     .pools = pools,
                     .generations = generations,
                     .log_of = [this](std::size_t) { return &log; },
                     .accepted =
                         [this](PoolId, Generation generation) {
                             EXPECT_THAT(events, IsEmpty()) << "before a worker may start";
                             accepted.push_back(generation.value);
                         },
                     .deliver = [this](const Event& event) { events.push_back(event); }}};
};

TEST(Reloads, AskTheEngineForTheNextGeneration) {
    Stand stand;
    for (const std::uint64_t number : {2U, 3U}) {
        const auto begun = stand.ask();
        ASSERT_TRUE(begun);
        EXPECT_EQ(begun->generation, Generation{number});
        const auto& asked = std::get<ReloadAsked>(stand.events.back());
        EXPECT_EQ(asked.pool, PoolId{0});
        EXPECT_EQ(asked.generation, Generation{number});
        EXPECT_EQ(asked.kind, ReloadKind::beside);
    }
    EXPECT_THAT(stand.events, SizeIs(2));
}

TEST(Reloads, LeaveItToTheEngineWhichLanesComeBack) {
    Stand stand;
    stand.reloads.observe(
        ReportLane{.lane = {0}, .state = LaneState::quarantined, .reason = Reason::proof_failed});
    ASSERT_TRUE(stand.ask());
    ASSERT_THAT(stand.events, SizeIs(1));
    EXPECT_TRUE(std::holds_alternative<ReloadAsked>(stand.events.front()));
}

TEST(Reloads, AcceptOtherAnswersOnlyIfThatWasSaid) {
    Stand stand;
    ASSERT_TRUE(stand.reloads.ask(0, {.accept = true}));
    ASSERT_TRUE(stand.ask());
    EXPECT_THAT(stand.accepted, ElementsAre(2));
}

TEST(Reloads, RefuseWorkersThatOthersStarted) {
    Stand stand;
    EXPECT_THAT(stand.reloads.ask(1, {}).error(),
                HasSubstr("did not start the workers of the pool far"));
    EXPECT_THAT(stand.events, IsEmpty());
    EXPECT_FALSE(stand.pools[1].reload);
}

TEST(Reloads, KeepWhyTheFirstWorkerFailed) {
    Stand stand;
    ASSERT_TRUE(stand.ask({"/a/model.py"}));
    stand.start(7, {2});
    LogSource source{.stream = LogStream::err, .writer = 7};
    stand.log.take(source, "Traceback (most recent call last):\nOops: x\n", 0);
    stand.lanes[0].next.trouble = {
        .cause = LaneCause::exited, .told = "exit code 1", .said = "Oops: x"};
    stand.end({2}, ReloadEnd::abandoned);
    const ReloadFacts& reload = *stand.pools[0].reload;
    EXPECT_EQ(reload.end, ReloadEnd::abandoned);
    EXPECT_NE(reload.ended, never);
    EXPECT_THAT(reload.order.files, ElementsAre("/a/model.py"));
    EXPECT_EQ(reload.trouble, "Traceback (most recent call last):\nOops: x");
}

TEST(Reloads, KeepTheTroubleThatNoTracebackTells) {
    Stand stand;
    ASSERT_TRUE(stand.ask());
    stand.start(7, {2});
    LogSource source{.stream = LogStream::err, .writer = 7};
    stand.log.take(source, "a warning\n", 0);
    stand.lanes[0].next.trouble = {
        .cause = LaneCause::proof_failed, .told = "its proof failed", .said = ".digit: 3, not 7"};
    stand.end({2}, ReloadEnd::abandoned);
    EXPECT_EQ(stand.pools[0].reload->trouble, "its proof failed: .digit: 3, not 7\na warning");
}

TEST(Reloads, ThatDifferFromTheRecordingSayHowToAcceptThat) {
    Stand stand;
    const auto begun = stand.ask();
    stand.start(1, begun->generation);
    stand.lanes[0].next.trouble = {.cause = LaneCause::wrong_answer,
                                   .told = "wrong answer",
                                   .said = ".digit: 3 here, 7 expected"};
    stand.lanes[0].next.proof = {.by = ProofBy::recording};
    stand.end(begun->generation, ReloadEnd::abandoned);
    EXPECT_EQ(stand.pools[0].reload->trouble,
              "wrong answer: .digit: 3 here, 7 expected\n"
              "if this answer is right: turnpike reload --accept");
}

TEST(Reloads, ForgetTheTroubleOfTheOneBefore) {
    Stand stand;
    ASSERT_TRUE(stand.ask());
    stand.start(7, {2});
    stand.lanes[0].next.trouble = {.cause = LaneCause::exited, .told = "exit code 1"};
    stand.end({2}, ReloadEnd::abandoned);
    ASSERT_TRUE(stand.ask());
    EXPECT_EQ(stand.pools[0].reload->trouble, "");
    EXPECT_EQ(stand.pools[0].reload->ended, never);
    stand.start(8, {3});
    stand.report(LaneState::ready);
    stand.end({3}, ReloadEnd::spread);
    EXPECT_EQ(stand.pools[0].reload->end, ReloadEnd::spread);
    EXPECT_EQ(stand.pools[0].reload->trouble, "");
}

TEST(Reloads, AreOverWhenTheLastLaneIsUp) {
    Stand stand;
    ASSERT_TRUE(stand.ask());
    stand.report(LaneState::loading);
    stand.end({2}, ReloadEnd::spread);
    EXPECT_EQ(stand.pools[0].reload->ended, never) << "no old worker is left, but none serves";
    stand.report(LaneState::proving);
    EXPECT_EQ(stand.pools[0].reload->ended, never);
    stand.report(LaneState::ready);
    EXPECT_NE(stand.pools[0].reload->ended, never);
    EXPECT_EQ(stand.pools[0].reload->end, ReloadEnd::spread);
}

TEST(Reloads, ShowTheLatestOneWhenAnEarlierOneEnds) {
    Stand stand;
    ASSERT_TRUE(stand.ask());
    ASSERT_TRUE(stand.ask());
    stand.end({2}, ReloadEnd::abandoned);
    EXPECT_EQ(stand.pools[0].reload->generation, Generation{3});
    EXPECT_EQ(stand.pools[0].reload->ended, never);
}

}  // namespace
}  // namespace turnpike
