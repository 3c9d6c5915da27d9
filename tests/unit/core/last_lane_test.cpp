// Which lanes fail when they crash too often: never the last one that has served (restart.cpp).
#include <gtest/gtest.h>

#include "core/restart.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::fail_lane_1;
using test::Gate;

TEST(LastLane, DoesNotFailIfItHasServed) {
    Gate gate({.lanes = 2, .crash_limit = 2});
    fail_lane_1(gate);
    for (int crashes = 0; crashes < 4; ++crashes) {
        gate.dies(0);
        EXPECT_EQ(gate.state(0), LaneState::backoff);
        gate.pass(10s);
        gate.comes_up(0);
    }
}

TEST(LastLane, FailsIfItHasNeverServed) {
    Gate gate({.lanes = 1, .crash_limit = 2});
    gate.tell(GateOpened{});
    gate.dies(0);
    gate.pass(1s);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(LastLane, IsTheOneThatHasServedThoughAnotherLoads) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.tell(GateOpened{});
    gate.comes_up(0);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "lane 1 still loads";
    gate.dies(1);
    EXPECT_EQ(gate.state(1), LaneState::failed);
}

TEST(LastLane, IsTheOneThatHasServedThisGeneration) {
    Gate gate({.lanes = 1, .crash_limit = 1});
    gate.open();
    gate.reload(2);
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "the last that served generation 2";
}

}  // namespace
}  // namespace turnpike
