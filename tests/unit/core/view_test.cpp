#include "core/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;

TEST(View, ShowsAQuietGate) {
    Gate gate(settings_with({{.lanes = 2}, {.lanes = 1}}));
    const View view = gate.view();
    ASSERT_EQ(view.pools.size(), 2U);
    ASSERT_EQ(view.lanes.size(), 3U);
    EXPECT_EQ(view.pools[1].pool, PoolId{1});
    EXPECT_EQ(view.lanes[2].lane, LaneId{2});
    EXPECT_EQ(view.lanes[2].pool, PoolId{1});
    EXPECT_TRUE(view.lanes[0].current.is_none());
    EXPECT_TRUE(view.lanes[0].other.is_none());
    EXPECT_TRUE(view.lanes[0].generation.is_none());
    EXPECT_EQ(view.pools[0].good, Generation{1});
    EXPECT_TRUE(view.pools[0].reloading.is_none());
    EXPECT_EQ(view.jobs + view.attempts + view.workers, 0U);
    EXPECT_FALSE(view.is_shutting_down);
}

TEST(View, CountsJobsInEveryState) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.arrive();
    gate.queue_jobs(3);
    const PoolView pool = gate.pool();
    EXPECT_EQ(pool.arriving, 1U);
    EXPECT_EQ(pool.queued, 2U);
    EXPECT_EQ(pool.running, 1U);
    EXPECT_EQ(gate.view().jobs, 4U);
    EXPECT_EQ(gate.view().attempts, 1U);
    EXPECT_EQ(gate.view().workers, 1U);
    EXPECT_EQ(gate.view().bytes_held, Bytes{40});
}

TEST(View, CountsOutcomes) {
    Gate gate({.lanes = 1, .queue_jobs_max = 1, .fail_streak = 9});
    gate.open();
    gate.ends(gate.queue_job(), Verdict::answered);
    gate.ends(gate.queue_job(), Verdict::bad_input);
    gate.ends(gate.queue_job(), Verdict::non_finite);
    gate.tell(CancelAsked{gate.arrive()});
    gate.arrive({.timeout = 0s});
    gate.arrive(), gate.arrive();
    EXPECT_EQ(gate.pool().counts,
              (Counts{.finished = 2, .failed = 1, .timed_out = 1, .cancelled = 1, .refused = 1}));
}

TEST(View, HasACountForEveryOutcome) {
    Counts counts;
    for (const Outcome outcome : {Outcome::finished, Outcome::failed, Outcome::timed_out,
                                  Outcome::cancelled, Outcome::refused})
        ++counts.of(outcome);
    EXPECT_EQ(counts, (Counts{1, 1, 1, 1, 1}));
}

TEST(View, ShowsALaneAtWork) {
    Gate gate({.lanes = 1, .slots = 3});
    gate.open();
    gate.queue_jobs(2);
    gate.queue_job({.is_aside = true});
    gate.queue_job({.lane = 0}), gate.queue_job({.lane = 0}), gate.queue_job({.lane = 0});
    const LaneView lane = gate.lane(0);
    EXPECT_EQ(lane.state, LaneState::busy);
    EXPECT_EQ(lane.aboard, 3U) << "asides not counted";
    EXPECT_EQ(lane.asides, 1U);
    EXPECT_EQ(lane.slots_free, 0U);
    EXPECT_EQ(lane.queued_for_lane, 2U);
    EXPECT_FALSE(lane.can_take_jobs);
    EXPECT_EQ(lane.generation, Generation{1});
}

TEST(View, ShowsBothWorkersOfALane) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    gate.queue_job();
    gate.reload(2);
    EXPECT_EQ(gate.name(gate.lane(0).current), "w0");
    EXPECT_EQ(gate.name(gate.lane(0).other), "w1");
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.name(gate.lane(0).current), "w1");
    EXPECT_EQ(gate.name(gate.lane(0).other), "w0");
    gate.queue_job();
    EXPECT_EQ(gate.lane(0).aboard, 2U) << "on both together";
    EXPECT_EQ(gate.lane(0).slots_free, 0U);
    EXPECT_EQ(gate.view().workers, 2U);
}

TEST(View, CountsWhatALaneFinishedFailedAndRestarted) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.run_jobs(0, 2, Verdict::answered);
    gate.run_jobs(0, 1, Verdict::bad_input);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_EQ(gate.lane(0).restarts, 0U);
    gate.dies(0);
    gate.pass(1s);
    EXPECT_EQ(gate.lane(0).restarts, 1U);
    EXPECT_EQ(gate.lane(0).finished, 3U);
    EXPECT_EQ(gate.lane(0).failed, 1U);
}

TEST(View, KnowsHowLongTheOldestJobHasWaited) {
    Gate gate({.lanes = 2});
    gate.tell(GateOpened{});
    EXPECT_EQ(gate.pool().oldest_wait, 0s);
    gate.queue_job({.lane = 1});
    gate.pass(3s);
    gate.queue_job({.priority = 0});
    gate.pass(4s);
    EXPECT_EQ(gate.pool().oldest_wait, 7s) << "also at a lane";
    gate.comes_up(1);
    EXPECT_EQ(gate.pool().oldest_wait, 4s);
}

TEST(View, KnowsHowLongARetryHasWaited) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    gate.queue_job();
    gate.pass(10s);
    gate.dies(0);
    gate.pass(100ms);
    EXPECT_EQ(gate.pool().oldest_wait, 100ms) << "since it was queued anew, also among lone riders";
}

TEST(View, FindsAJobInEveryState) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job();
    const JobId job = gate.arrive();
    gate.pass(2s);
    auto found = gate.engine().find(job, gate.now());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state, JobState::arriving);
    EXPECT_EQ(found->since, 2s);
    EXPECT_EQ(found->pool, PoolId{0});
    gate.tell(BodyCompleted{job, Bytes{10}});
    gate.pass(1s);
    found = gate.engine().find(job, gate.now());
    EXPECT_EQ(found->state, JobState::queued);
    EXPECT_EQ(found->since, 1s);
    EXPECT_TRUE(found->lane.is_none());
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(0);
    gate.ends(gate.acts<SendJob>().front().job);
    found = gate.engine().find(job, gate.now());
    EXPECT_EQ(found->state, JobState::running);
    EXPECT_EQ(found->lane, LaneId{0});
    EXPECT_EQ(found->attempts, 1U);
    gate.ends(job);
    EXPECT_FALSE(gate.engine().find(job, gate.now()));
}

TEST(View, OverwritesWhatItIsGiven) {
    Gate gate({.lanes = 2});
    View view = gate.view();
    view.lanes.resize(17);
    view.jobs = 99;
    gate.engine().view(gate.now(), view);
    EXPECT_EQ(view.lanes.size(), 2U);
    EXPECT_EQ(view.jobs, 0U);
}

}  // namespace
}  // namespace turnpike
