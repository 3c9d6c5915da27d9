// Proofs by agreement: the lanes of a generation vote (proof.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::prove_all;
using test::proving;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Lanes whose workers have voted: lane n for `groups[n]`.
struct Assembly {
    explicit Assembly(const std::vector<std::uint32_t>& groups)
        : gate(proving(static_cast<std::uint32_t>(groups.size()), ProofKind::agree)) {
        gate.tell(GateOpened{});
        for (std::uint64_t lane = 0; lane < groups.size(); ++lane) {
            gate.tell(WorkerReady{gate.current(lane)});
            gate.votes(gate.current(lane), groups[lane]);
        }
    }
    void comes_back(std::uint64_t lane, std::uint32_t group) {
        gate.dies(lane);
        gate.pass(1s);
        gate.tell(WorkerReady{gate.current(lane)});
        gate.votes(gate.current(lane), group);
    }
    Gate gate;
};

TEST(Agreement, LetsTheFirstLaneServeAtOnce) {
    Assembly one({7});
    EXPECT_EQ(one.gate.state(0), LaneState::ready);
    EXPECT_THAT(one.gate.deeds(), IsEmpty());
}

TEST(Agreement, LetsLanesThatAgreeServe) {
    Assembly three({0, 0, 0});
    for (std::uint64_t lane = 0; lane < 3; ++lane)
        EXPECT_EQ(three.gate.state(lane), LaneState::ready);
    EXPECT_FALSE(three.gate.pool().is_majority_missing);
}

TEST(Agreement, LetsAllServeAndSaysSoWithoutAMajority) {
    Assembly two({0, 1});
    EXPECT_THAT(two.gate.deeds(), ElementsAre("no majority in g1"));
    EXPECT_EQ(two.gate.state(0), LaneState::ready);
    EXPECT_EQ(two.gate.state(1), LaneState::ready);
    EXPECT_TRUE(two.gate.pool().is_majority_missing);
}

TEST(Agreement, DoesNotTakeHalfForAMajority) {
    Assembly four({0, 1, 2, 0});
    EXPECT_THAT(four.gate.deeds(), ElementsAre("no majority in g1"));
    for (std::uint64_t lane = 0; lane < 4; ++lane)
        EXPECT_EQ(four.gate.state(lane), LaneState::ready);
}

TEST(Agreement, RetiresALaneOutsideTheMajorityAndQuarantinesItTheSecondTime) {
    Assembly three({0, 0, 1});
    Gate& gate = three.gate;
    EXPECT_THAT(gate.turn(), ElementsAre("stop w2 disagrees", "lane 2 draining disagrees"));
    EXPECT_FALSE(gate.pool().is_majority_missing);
    three.comes_back(2, 1);
    EXPECT_THAT(gate.turn(), ElementsAre("stop w3 disagrees", "lane 2 quarantined disagrees"));
}

TEST(Agreement, ForgivesALaneThatAgreesAgain) {
    Assembly three({0, 0, 1});
    for (int i = 0; i < 3; ++i) {
        three.comes_back(2, 0);
        ASSERT_EQ(three.gate.state(2), LaneState::ready);
        prove_all(three.gate);
        for (const std::uint64_t lane : {0, 1}) three.gate.votes(three.gate.current(lane), 0);
        three.gate.votes(three.gate.current(2), 1);
        ASSERT_EQ(three.gate.reason(2), Reason::disagrees);
        ASSERT_NE(three.gate.state(2), LaneState::quarantined);
    }
}

TEST(Agreement, DecidesByALaterVoteAgainstALaneThatServes) {
    Gate gate(proving(3, ProofKind::agree));
    gate.tell(GateOpened{});
    for (const std::uint64_t lane : {0, 1}) {
        gate.tell(WorkerReady{gate.current(lane)});
        gate.votes(gate.current(lane), static_cast<std::uint32_t>(lane));
    }
    const JobId job = gate.queue_job({.lane = 0});
    gate.tell(WorkerReady{gate.current(2)});
    gate.votes(gate.current(2), 1);
    EXPECT_EQ(gate.reason(0), Reason::disagrees);
    EXPECT_TRUE(gate.is_running(job)) << "jobs aboard finish";
    gate.ends(job);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "stop w0 disagrees"));
}

TEST(Agreement, CountsNoVotesOfDeadWorkers) {
    Assembly three({0, 0, 0});
    Gate& gate = three.gate;
    gate.dies(0), gate.dies(1);
    prove_all(gate);
    gate.votes(gate.current(2), 1);
    EXPECT_EQ(gate.state(2), LaneState::ready) << "it is all there is";
    EXPECT_THAT(gate.deeds(), IsEmpty());
}

TEST(Agreement, LetsLanesChangeTheirVotesTogether) {
    Assembly two({0, 0});
    Gate& gate = two.gate;
    prove_all(gate);
    gate.votes(gate.current(0), 1);
    EXPECT_THAT(gate.deeds(), Contains("no majority in g1"));
    gate.votes(gate.current(1), 1);
    EXPECT_FALSE(gate.pool().is_majority_missing);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(Agreement, CountsNoVoteOfAWorkerThatProvesItselfAnew) {
    Gate gate(proving(3, ProofKind::agree));
    gate.tell(GateOpened{});
    for (const std::uint64_t lane : {0, 1}) {
        gate.tell(WorkerReady{gate.current(lane)});
        gate.votes(gate.current(lane), 0);
    }
    prove_all(gate);
    ASSERT_EQ(gate.state(0), LaneState::proving);
    gate.tell(WorkerReady{gate.current(2)});
    gate.votes(gate.current(2), 1);
    EXPECT_THAT(gate.deeds(), Contains("no majority in g1")) << "one against one";
    EXPECT_EQ(gate.state(2), LaneState::ready);
}

TEST(Agreement, ComparesOnlyWorkersOfOneGeneration) {
    Assembly three({0, 0, 0});
    Gate& gate = three.gate;
    gate.reload(2);
    gate.tell(WorkerReady{gate.other(0)});
    gate.votes(gate.other(0), 5);
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    EXPECT_EQ(gate.state(1), LaneState::ready);
    EXPECT_FALSE(gate.pool().is_majority_missing);
    gate.tell(WorkerReady{gate.other(1)});
    gate.votes(gate.other(1), 6);
    EXPECT_THAT(gate.deeds(), Contains("no majority in g2"));
    EXPECT_EQ(gate.lane(1).generation, Generation{2}) << "it serves all the same";
}

}  // namespace
}  // namespace turnpike
