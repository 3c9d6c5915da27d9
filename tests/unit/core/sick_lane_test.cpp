// Lanes on which job after job dies, and jobs that kill lane after lane (restart.cpp, blame.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::delay_after_death;
using test::expect_about;
using test::Gate;
using test::job_on;
using test::replace_worker;

TEST(SickLane, IsChargedForEachDeathAndFailsWhileItsJobsAreAnsweredElsewhere) {
    Gate gate({.lanes = 3, .crash_limit = 5, .crash_window = 1h});
    gate.open();
    std::vector<JobId> jobs;
    for (int deaths = 1; deaths <= 5; ++deaths) {
        ASSERT_EQ(gate.state(0), LaneState::ready) << "after " << deaths - 1 << " deaths";
        jobs.push_back(job_on(gate, 0));
        gate.dies(0);
        gate.ends(jobs.back());
        gate.pass(10s);
        if (gate.state(0) == LaneState::starting) gate.comes_up(0);
    }
    EXPECT_EQ(gate.state(0), LaneState::failed);
    for (const JobId job : jobs) EXPECT_EQ(gate.ended(job), EndReason::answered);
}

TEST(SickLane, WaitsLongerAfterEachCharge) {
    Gate gate({.lanes = 2, .restart_delay_min = 200ms, .crash_limit = 16});
    gate.open();
    for (const Duration plain : {200ms, 400ms, 800ms, 1600ms}) {
        const JobId job = job_on(gate, 0);
        expect_about(delay_after_death(gate, 0), plain);
        gate.ends(job);
        gate.comes_up(0);
    }
}

/// Lets a job die on lane 0 that may not run again, so that nobody is charged. Returns how long the lane
/// waits.
Duration undecided_death(Gate& gate) {
    job_on(gate, 0);
    const Duration delay = delay_after_death(gate, 0);
    gate.comes_up(0);
    return delay;
}

PoolSettings two_lanes() {
    return {.lanes = 2, .may_retry = false, .restart_delay_min = 200ms, .crash_limit = 3};
}

TEST(SickLane, WaitsLongerFromItsThirdDeathInARowIfAnotherLaneAnswers) {
    Gate gate(two_lanes());
    gate.open();
    for (const Duration plain : {200ms, 200ms, 400ms, 800ms, 1600ms}) {
        expect_about(undecided_death(gate), plain);
        gate.run_jobs(1, 1, Verdict::answered);
        gate.ends(gate.queue_job({.lane = 0, .is_aside = true}));  // is no answer to a job
    }
    gate.run_jobs(0, 1, Verdict::model_failed);
    expect_about(undecided_death(gate), 200ms);
}

TEST(SickLane, DoesNotWaitLongerIfNoOtherLaneAnswers) {
    Gate gate(two_lanes());
    gate.open();
    gate.run_jobs(1, 1, Verdict::answered);  // before the first death
    gate.queue_job({.lane = 1});             // it runs until the end
    for (int deaths = 0; deaths < 6; ++deaths) {
        gate.pass(1ms);
        expect_about(undecided_death(gate), 200ms);
    }
    EXPECT_EQ(gate.state(0), LaneState::ready) << "nobody was charged";
}

TEST(SickLane, ForgetsTheRowAfterAGoodRun) {
    Gate gate(two_lanes());
    gate.open();
    for (int deaths = 0; deaths < 6; ++deaths) {
        gate.pass(1min);
        expect_about(undecided_death(gate), 200ms);
        gate.run_jobs(1, 1, Verdict::answered);
    }
}

TEST(SickLane, IsNotMadeByJobsThatWantTheLane) {
    Gate gate({.lanes = 2, .restart_delay_min = 200ms, .crash_limit = 3});
    gate.open();
    for (int deaths = 0; deaths < 6; ++deaths) {
        gate.queue_job({.bytes = Bytes{100U + static_cast<unsigned>(deaths)}, .lane = 0});
        expect_about(delay_after_death(gate, 0), 200ms);
        gate.comes_up(0);
        gate.run_jobs(1, 1, Verdict::answered);
    }
}

/// When the worker of lane 0 exits, whose link broke under a poison job.
enum class Exit { before_the_job_is_poison, after_the_job_is_poison };

/// Lets a poison job break the link of lane 0, then kill lane 1, while lane 2 answers. Returns how
/// long lane 0 waits.
Duration delay_after_late_exit(Gate& gate, Exit exit) {
    const JobId poison = job_on(gate, 0);
    gate.leave_probes_to_me();
    gate.ends(poison, Verdict::broken);
    gate.pass(1ms);
    Duration delay{};
    if (exit == Exit::before_the_job_is_poison) delay = delay_after_death(gate, 0);
    while (!gate.is_running(poison)) gate.pass(gate.next_deadline() - gate.now());
    const std::uint64_t elsewhere = gate.lane_of(poison).value;
    EXPECT_NE(elsewhere, 0U);
    gate.dies(elsewhere);
    EXPECT_EQ(gate.ended(poison), EndReason::poison);
    if (exit == Exit::after_the_job_is_poison) delay = delay_after_death(gate, 0);
    gate.comes_up(0);
    gate.pass(1s);
    gate.comes_up(elsewhere);
    return delay;
}

TEST(SickLane, IsNotMadeByPoisonWhoseWorkerExitsLate) {
    for (const Exit exit : {Exit::before_the_job_is_poison, Exit::after_the_job_is_poison}) {
        Gate gate({.lanes = 3, .poison_keep = {}, .restart_delay_min = 200ms, .crash_limit = 3});
        gate.open();
        for (int deaths = 0; deaths < 6; ++deaths) {
            expect_about(delay_after_late_exit(gate, exit), 200ms);
            gate.queue_job({.lane = 2});
            gate.run_jobs(1, 1, Verdict::answered);
        }
    }
}

TEST(Flood, OfPoisonFailsNoLaneAndSlowsNone) {
    Gate gate({.lanes = 4, .restart_delay_min = 200ms, .crash_limit = 2});
    gate.open();
    const std::vector<JobId> jobs = gate.queue_jobs(30);
    const auto has_ended = [&](JobId job) { return gate.ended(job).has_value(); };
    for (int rounds = 0; !std::ranges::all_of(jobs, has_ended); ++rounds) {
        ASSERT_LT(rounds, 60);
        for (const LaneView& lane : gate.view().lanes)
            if (lane.aboard > 0) gate.dies(lane.current);
        gate.pass(250ms);
        for (const LaneView& lane : gate.view().lanes) {
            ASSERT_THAT(lane.state,
                        testing::AnyOf(LaneState::starting, LaneState::ready, LaneState::busy))
                << "its delay is over";
            if (lane.state == LaneState::starting) gate.comes_up(lane.current);
        }
    }
    for (const JobId job : jobs) EXPECT_EQ(gate.ended(job), EndReason::poison);
    for (const LaneView& lane : gate.view().lanes) EXPECT_EQ(lane.state, LaneState::ready);
}

TEST(Flood, OfPoisonDoesNotHarmTheOthersJobs) {
    Gate gate({.lanes = 2, .slots = 2, .crash_limit = 2});
    gate.open();
    for (std::uint64_t i = 0; i < 5; ++i) {
        const JobId poison = gate.queue_job({.bytes = Bytes{100 + i}});
        const JobId good = gate.queue_job({.lane = gate.lane_of(poison).value});
        while (!gate.ended(poison)) {
            ASSERT_TRUE(gate.is_running(poison));
            gate.dies(gate.lane_of(poison).value);
            gate.pass(1s);
            for (const LaneView& lane : gate.view().lanes)
                if (lane.state == LaneState::starting) gate.comes_up(lane.current);
            if (gate.is_running(good)) gate.ends(good);
        }
        EXPECT_EQ(gate.ended(poison), EndReason::poison);
        EXPECT_EQ(gate.ended(good), EndReason::answered);
    }
    for (const LaneView& lane : gate.view().lanes) EXPECT_EQ(lane.state, LaneState::ready);
}

}  // namespace
}  // namespace turnpike
