#include "core/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant start = Instant{} + 1h;

TEST(Engine, AppendsToTheActionsItIsGiven) {
    Engine engine(settings_with({{.lanes = 1}}));
    Actions actions;
    engine.handle(GateOpened{}, start, actions);
    engine.handle(ShutdownAsked{}, start, actions);
    EXPECT_GE(actions.size(), 2U);
    EXPECT_TRUE(std::holds_alternative<StartWorker>(actions.front()));
}

TEST(Engine, WaitsForNothingWhenNothingIsTimed) {
    Engine engine(settings_with({{.lanes = 1}}));
    EXPECT_EQ(engine.next_deadline(), never);
    Actions actions;
    engine.handle(TimePassed{}, start, actions);
    EXPECT_THAT(actions, IsEmpty());
}

TEST(Engine, SaysWhenTimePassedIsDue) {
    Gate gate({.lanes = 1, .queue_wait_max = 1h});
    gate.queue_job({.timeout = 30s});
    EXPECT_EQ(gate.next_deadline(), gate.now() + 30s);
    gate.queue_job();
    EXPECT_EQ(gate.next_deadline(), gate.now() + 30s);
    gate.pass(30s);
    EXPECT_EQ(gate.next_deadline(), gate.now() - 30s + 1h);
}

TEST(Engine, DoesNothingWhenTimePassedComesTooEarly) {
    Gate gate({.lanes = 1});
    gate.queue_job({.timeout = 30s});
    gate.tell_after(29s, TimePassed{});
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Engine, CatchesUpWithEveryDeadlineThatHasPassed) {
    Gate gate({.lanes = 1});
    gate.queue_job({.timeout = 30s}), gate.queue_job({.timeout = 10s}),
        gate.queue_job({.timeout = 20s});
    gate.tell_after(1min, TimePassed{});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j1 deadline_passed", "end j2 deadline_passed",
                                          "end j0 deadline_passed"));
}

TEST(Engine, LetsDeadlinesFireWithAnyEvent) {
    Gate gate({.lanes = 1});
    gate.queue_job({.timeout = 30s});
    gate.tell_after(1min, MemoryFreed{LaneId{0}});
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 deadline_passed"));
}

TEST(Engine, NeverLetsTimeGoBack) {
    Engine engine(settings_with({{.lanes = 1}}));
    Actions actions;
    engine.handle(GateOpened{}, start, actions);
    const Instant load_timeout = engine.next_deadline();
    actions.clear();
    engine.handle(WorkerStarted{WorkerId{0}}, start - 30min, actions);
    EXPECT_EQ(engine.next_deadline(), load_timeout);
}

TEST(Engine, CanBeMoved) {
    Engine first(settings_with({{.lanes = 1}}));
    Actions actions;
    first.handle(GateOpened{}, start, actions);
    Engine second(std::move(first));
    EXPECT_EQ(second.view(start).workers, 1U);
    Engine third(settings_with({{.lanes = 2}}));
    third = std::move(second);
    EXPECT_EQ(third.view(start).lanes.size(), 1U);
}

TEST(Engine, GivesTheSameActionsForTheSameEvents) {
    const auto history = [] {
        Gate gate({.lanes = 3, .slots = 2, .batch = 2});
        std::vector<std::string> said;
        const auto note = [&] {
            for (const std::string& sentence : gate.turn()) said.push_back(sentence);
            said.push_back(std::to_string(gate.next_deadline().time_since_epoch().count()));
        };
        gate.open(), note();
        gate.queue_jobs(20), note();
        gate.dies(1), note();
        gate.pass(10s), note();
        gate.reload(2), note();
        gate.pass(1h), note();
        return said;
    };
    EXPECT_EQ(history(), history());
}

TEST(Engine, IgnoresEventsAboutThingsThatNeverExisted) {
    Gate gate({.lanes = 1});
    gate.open();
    const std::vector<Event> strange{BodyGrew{JobId{77}, Bytes{1}},
                                     BodyCompleted{JobId{}, Bytes{1}},
                                     ClientLeft{JobId{77}},
                                     CancelAsked{JobId{}},
                                     WorkerStarted{WorkerId{}},
                                     LoadProgressed{WorkerId{77}},
                                     WorkerReady{WorkerId{77}},
                                     WorkerExited{WorkerId{}},
                                     WorkerGone{WorkerId{77}},
                                     WorkerMisbehaved{WorkerId{77}},
                                     AnswerBegun{WorkerId{77}, AttemptId{77}},
                                     AnswerMoved{WorkerId{77}, AttemptId{77}},
                                     AttemptEnded{WorkerId{77}, AttemptId{77}},
                                     ProbeEnded{WorkerId{77}},
                                     ProofEnded{WorkerId{77}},
                                     MemoryFreed{LaneId{77}},
                                     GpuLost{LaneId{}},
                                     DrainAsked{LaneId{77}},
                                     ResumeAsked{LaneId{}},
                                     RestartAsked{LaneId{77}},
                                     ReloadAsked{PoolId{77}, Generation{2}},
                                     ProveAsked{PoolId{}}};
    for (const Event& event : strange) {
        gate.tell(event);
        EXPECT_THAT(gate.turn(), IsEmpty()) << "event " << event.index();
    }
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Engine, ServesManyLanesAndPools) {
    Gate gate(settings_with({{.lanes = lanes_max, .slots = 2}, {.lanes = lanes_max}}));
    gate.open();
    EXPECT_EQ(gate.view().workers, 2 * lanes_max);
    gate.queue_jobs(2 * lanes_max + 1);
    EXPECT_THAT(gate.acts<SendJob>(), SizeIs(2 * lanes_max));
    EXPECT_EQ(gate.pool(0).queued, 1U);
    EXPECT_FALSE(gate.lane(lanes_max - 1).can_take_jobs);
    EXPECT_TRUE(gate.lane(lanes_max).can_take_jobs);
}

// ── settings that the engine does not accept ─────────────────────────────────────────────────────

TEST(EngineDeathTest, NeedsAPool) {
    EXPECT_DEATH(Engine{Settings{}}, "CHECK failed: !settings.pools.empty");
}

TEST(EngineDeathTest, RefusesPoolsThatItWouldBreakOn) {
    const std::vector<PoolSettings> impossible{
        {.lanes = 0},
        {.lanes = lanes_max + 1},
        {.slots = 0},
        {.slots = slots_max + 1},
        {.batch = 0},
        {.batch = batch_max + 1},
        {.slots = 2, .cancel = CancelPolicy::kill},
        {.batch = 2, .cancel = CancelPolicy::kill},
        {.crash_limit = 0},
        {.crash_limit = crash_limit_max + 1},
        {.probe_every = 0s},
        {.probe_timeout = 0s},
        {.proof_every = 0s},
        {.restart_delay_min = 0s},
        {.fail_streak = 0},
        {.probe_failures_max = 0},
    };
    for (std::size_t i = 0; i < impossible.size(); ++i)
        EXPECT_DEATH(Engine{settings_with({impossible[i]})}, "CHECK failed: pool\\.") << i;
}

}  // namespace
}  // namespace turnpike
