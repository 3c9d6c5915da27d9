#include "core/loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Settings one_at_a_time(std::vector<PoolSettings> pools) {
    Settings settings = settings_with(std::move(pools));
    settings.load_parallel_max = 1;
    return settings;
}

TEST(Loading, StartsEveryLaneAtOnceWithoutALimit) {
    Gate gate({.lanes = 4});
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.acts<StartWorker>(), SizeIs(4));
}

TEST(Loading, StartsAsManyAsMayLoad) {
    Settings settings = settings_with({{.lanes = 4}});
    settings.load_parallel_max = 2;
    Gate gate(settings);
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.turn(),
                ElementsAre("start w0 on 0 with g1", "start w1 on 1 with g1",
                            "lane 2 starting turn_to_load", "lane 3 starting turn_to_load"));
    gate.tell(WorkerStarted{gate.current(1)});
    EXPECT_THAT(gate.deeds(), IsEmpty()) << "it still loads";
    gate.tell(WorkerReady{gate.current(1)});
    EXPECT_THAT(gate.turn(),
                ElementsAre("start w2 on 2 with g1", "lane 1 ready", "lane 2 starting"));
}

TEST(Loading, CountsAllPoolsTogether) {
    Gate gate(one_at_a_time({{.lanes = 1}, {.lanes = 1}}));
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w0 on 0 with g1"));
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 1 with g1"));
}

TEST(Loading, AttachedWorkersNeedNoTurn) {
    Gate gate(one_at_a_time({{.lanes = 2, .ownership = Ownership::attached}, {.lanes = 2}}));
    gate.tell(GateOpened{});
    EXPECT_THAT(gate.deeds(), ElementsAre("start w0 on 0 with g1", "start w1 on 1 with g1",
                                          "start w2 on 2 with g1"))
        << "those that are away hold nobody up, and the last one waits for its turn";
    gate.comes_up(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 3 with g1"));
}

TEST(Loading, GivesTheTurnToTheNextLaneWhenALoadDies) {
    Gate gate(one_at_a_time({{.lanes = 2}}));
    gate.tell(GateOpened{});
    gate.exits(gate.current(0));
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 exited", "start w1 on 1 with g1"));
}

TEST(Loading, DoesNotCountAWorkerThatProvesItself) {
    Gate gate(one_at_a_time({{.lanes = 2, .proof = ProofKind::fixed}}));
    gate.tell(GateOpened{});
    gate.tell(WorkerReady{gate.current(0)});
    EXPECT_THAT(gate.deeds(), ElementsAre("prove w0", "start w1 on 1 with g1"));
}

TEST(Loading, LetsTheFirstInLineGoFirst) {
    Gate gate(one_at_a_time({{.lanes = 3, .restart_delay_min = 1ms}}));
    gate.tell(GateOpened{});
    gate.comes_up(0);
    ASSERT_EQ(gate.state(1), LaneState::starting);
    gate.dies(0);  // it lines up again, behind lane 2
    gate.pass(1s);
    EXPECT_EQ(gate.reason(0), Reason::turn_to_load);
    gate.comes_up(1);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 2 with g1"));
    gate.comes_up(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 0 with g1"));
}

TEST(Loading, SkipsALaneThatNoLongerWantsItsTurn) {
    Gate gate(one_at_a_time({{.lanes = 3}}));
    gate.tell(GateOpened{});
    gate.drain(1);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w1 on 2 with g1"));
    gate.resume(1);
    EXPECT_EQ(gate.reason(1), Reason::turn_to_load);
    gate.comes_up(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 1 with g1"));
}

TEST(Loading, CountsTheNextWorkersOfAReloadToo) {
    Gate gate(one_at_a_time({{.lanes = 2}}));
    gate.tell(GateOpened{});
    gate.comes_up(0), gate.comes_up(1);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
    gate.comes_up(gate.other(0));
    EXPECT_THAT(gate.deeds(),
                ElementsAre("start w3 on 1 with g2", "switch 0 to w2", "stop w0 replaced"));
}

TEST(Loading, StartsBothWorkersOfALaneThatWantsTwo) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.dies(1);
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2", "start w3 on 1 with g2"));
    gate.pass(1s);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w4 on 1 with g1"))
        << "the good one, until the new one is";
}

TEST(Loading, StartsNothingOnceTheWorkersAreBeingStopped) {
    Gate gate(one_at_a_time({{.lanes = 2}}));
    gate.tell(GateOpened{});
    gate.shut_down(1min);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 shutting_down"));
    gate.dies(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("kill w0 shutting_down", "leave"));
}

TEST(Loading, LetsALaneLineUpAgainThatWaitedForMemoryWhenItsTurnCame) {
    Gate gate(one_at_a_time({{.lanes = 2}}));
    gate.tell(GateOpened{});
    gate.comes_up(0), gate.comes_up(1);
    gate.reload(2);  // lane 1 stands in line with its next worker
    gate.exits(gate.current(1));
    gate.becomes_gone(gate.current(1), Memory::held);
    gate.comes_up(gate.other(0));
    EXPECT_THAT(gate.acts<StartWorker>(), IsEmpty()) << "its turn, but no memory";
    gate.tell(MemoryFreed{LaneId{1}});
    EXPECT_THAT(gate.acts<StartWorker>(), SizeIs(1));
}

}  // namespace
}  // namespace turnpike
