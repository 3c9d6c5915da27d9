// Where suspects ride: alone on a reserved lane, preferably another than the one where their worker
// died (placement.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/placement.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::job_on;
using test::replace_worker;
using testing::ElementsAre;

std::int64_t lanes_reserved(const Gate& gate) {
    return std::ranges::count_if(gate.view().lanes,
                                 [](const LaneView& lane) { return lane.is_reserved; });
}

TEST(Suspect, MayUseHalfOfTheLanesAtATimeAndAtLeastOne) {
    struct Bound {
        std::uint32_t lanes;
        std::int64_t most;
    };
    for (const auto& [lanes, most] :
         {Bound{1, 1}, Bound{2, 1}, Bound{3, 1}, Bound{4, 2}, Bound{5, 2}}) {
        Gate gate({.lanes = lanes});
        gate.open();
        const auto suspects = gate.queue_jobs(lanes);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) gate.dies(lane);
        gate.pass(1s);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) gate.comes_up(lane);
        const auto is_running = [&](JobId job) { return gate.is_running(job); };
        EXPECT_EQ(lanes_reserved(gate), most) << lanes << " lanes";
        EXPECT_EQ(std::ranges::count_if(suspects, is_running), most) << lanes << " lanes";
        EXPECT_EQ(gate.is_running(gate.queue_job()), lanes > 1) << "the other lanes take jobs";
    }
}

TEST(Suspect, CountsOnlyLanesThatAreOnForTheirHalf) {
    Gate gate({.lanes = 4});
    gate.open();
    gate.drain(3);
    const auto jobs = gate.queue_jobs(2);
    replace_worker(gate, 0);
    replace_worker(gate, 1);
    EXPECT_EQ(gate.lane_of(jobs[0]), LaneId{2});
    EXPECT_TRUE(gate.is_queued(jobs[1])) << "lane 0 is free, but three lanes are on";
    gate.resume(3);
    EXPECT_EQ(gate.lane_of(jobs[1]), LaneId{0}) << "half of four";
}

/// A suspect of lane 0, whose next worker serves already. Every other lane is busy.
struct FreeOwnLane {
    explicit FreeOwnLane(std::uint32_t lanes) : gate({.lanes = lanes, .job_timeout = 1h}) {
        gate.open();
        suspect = gate.queue_job();
        blockers = gate.queue_jobs(lanes - 1);
        gate.dies(0);
        gate.pass(500ms);
        gate.comes_up(0);
    }
    Gate gate;
    JobId suspect;
    std::vector<JobId> blockers;
};

TEST(Suspect, WaitsForAnotherLaneThoughItsOwnIsFree) {
    FreeOwnLane scene(2);
    Gate& gate = scene.gate;
    EXPECT_TRUE(gate.is_queued(scene.suspect));
    EXPECT_TRUE(gate.lane(1).is_reserved);
    EXPECT_EQ(gate.lane_of(gate.queue_job()), LaneId{0}) << "which is for the others";
    gate.ends(scene.blockers[0]);
    EXPECT_EQ(gate.lane_of(scene.suspect), LaneId{1});
    EXPECT_TRUE(gate.is_running(scene.suspect));
}

TEST(Suspect, RidesOnItsOwnLaneAfterASecondIfAllOthersAreBusy) {
    FreeOwnLane scene(2);
    Gate& gate = scene.gate;
    gate.pass(500ms - 1ns);
    EXPECT_TRUE(gate.is_queued(scene.suspect));
    gate.pass(1ns);
    EXPECT_TRUE(gate.is_running(scene.suspect));
    EXPECT_EQ(gate.lane_of(scene.suspect), LaneId{0});
    EXPECT_FALSE(gate.lane(1).is_reserved) << "it takes other jobs again";
}

TEST(Suspect, RidesOnItsOwnLaneAfterTwiceTheUsualTime) {
    Gate gate({.lanes = 2, .job_timeout = 1h});
    gate.open();
    for (int i = 0; i < 8; ++i) {
        const JobId job = gate.queue_job();
        gate.pass(3s);
        gate.ends(job);
    }
    const JobId suspect = job_on(gate, 0);
    gate.queue_job();
    gate.dies(0);
    gate.pass(500ms);
    gate.comes_up(0);
    gate.pass(5500ms - 1ns);
    EXPECT_TRUE(gate.is_queued(suspect));
    gate.pass(1ns);
    EXPECT_EQ(gate.lane_of(suspect), LaneId{0});
    EXPECT_TRUE(gate.is_running(suspect));
}

TEST(Suspect, TakesTheFirstLaneThatBecomesEmpty) {
    FreeOwnLane scene(4);
    Gate& gate = scene.gate;
    EXPECT_TRUE(gate.lane(1).is_reserved);
    gate.ends(scene.blockers[2]);
    EXPECT_EQ(gate.lane_of(scene.suspect), LaneId{3});
    EXPECT_TRUE(gate.is_running(scene.suspect));
    EXPECT_FALSE(gate.lane(1).is_reserved);
}

TEST(Suspect, RidesOnItsOwnLaneIfNoOtherServes) {
    Gate gate({.lanes = 3});
    gate.open();
    gate.drain(1);
    const JobId suspect = gate.queue_job();
    gate.dies(2);
    ASSERT_EQ(gate.lane_of(suspect), LaneId{0});
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(0);
    EXPECT_EQ(gate.lane_of(suspect), LaneId{0}) << "lane 1 is off, lane 2 loads";
    EXPECT_TRUE(gate.is_running(suspect));
}

TEST(Suspect, GoesToTheLaneThatServesFirst) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.dies(1);
    const JobId suspect = gate.queue_job();
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(1);
    EXPECT_EQ(gate.lane_of(suspect), LaneId{1});
}

TEST(Suspect, HasTheOnlyLaneOfAPoolToItself) {
    Gate gate({.lanes = 1, .slots = 4});
    gate.open();
    const JobId suspect = gate.queue_job();
    gate.dies(0);
    const JobId next = gate.queue_job();
    gate.pass(1s);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w1")) << "before the others, and alone";
    gate.ends(suspect);
    EXPECT_TRUE(gate.is_running(next));
}

TEST(Suspect, RidesAgainAloneOnTheLaneThatItWants) {
    Gate gate({.lanes = 2, .slots = 2});
    gate.open();
    const JobId suspect = gate.queue_job({.lane = 0});
    gate.dies(0);
    EXPECT_TRUE(gate.is_queued(suspect)) << "lane 1 is idle";
    EXPECT_FALSE(gate.lane(1).is_reserved);
    gate.pass(1s);
    gate.comes_up(0);
    EXPECT_EQ(gate.lane_of(suspect), LaneId{0});
    EXPECT_TRUE(gate.lane(0).is_reserved);
    EXPECT_TRUE(gate.is_queued(gate.queue_job({.lane = 0})));
}

TEST(Suspect, DoesNotKeepTheNextInLineWaitingForItsLane) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId pinned = gate.queue_job({.lane = 0});
    const JobId any = gate.queue_job();
    gate.dies(0);
    replace_worker(gate, 1);
    EXPECT_TRUE(gate.is_queued(pinned));
    EXPECT_TRUE(gate.is_running(any)) << "lane 0 is away, so that no other lane serves";
}

TEST(Suspect, RidesOnAnotherAttachedLaneWhichNeverFails) {
    Gate gate({.lanes = 2, .ownership = Ownership::attached, .crash_limit = 1});
    gate.open();
    const JobId suspect = gate.queue_job();
    gate.dies(0);
    EXPECT_EQ(gate.lane_of(suspect), LaneId{1});
    EXPECT_TRUE(gate.lane(1).is_reserved);
    gate.ends(suspect);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "charged, but attached";
    EXPECT_FALSE(gate.lane(1).is_reserved);
}

TEST(Suspect, GoesBeforeTheJobsThatWaitForItsLane) {
    Gate gate({.lanes = 2});
    gate.open();
    const auto first = gate.queue_jobs(2);
    const auto waiting = gate.queue_jobs(2);
    gate.dies(0);
    gate.ends(first[1]);
    EXPECT_EQ(gate.lane_of(first[0]), LaneId{1});
    EXPECT_TRUE(gate.is_queued(waiting[0]));
    gate.ends(first[0]);
    EXPECT_TRUE(gate.is_running(waiting[0]));
}

}  // namespace
}  // namespace turnpike
