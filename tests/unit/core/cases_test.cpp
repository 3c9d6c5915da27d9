// Cases: who is charged with a death under jobs (blame.cpp, restart.cpp). In most of these tests one
// charge fails a lane, so that it can be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/blame.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::expect_not_charged;
using test::Gate;
using test::replace_worker;
using test::strict;

/// Three lanes with two slots. The worker of lane 0 died with `a` and `b` aboard; `a` rides on lane 1.
struct SharedDeath {
    SharedDeath() : gate(strict(3, 2)) {
        gate.tell(GateOpened{});
        gate.comes_up(0);
        a = gate.queue_job();
        b = gate.queue_job();
        gate.comes_up(1), gate.comes_up(2);
        gate.dies(0);
    }
    Gate gate;
    JobId a;
    JobId b;
};

// ── decided ──────────────────────────────────────────────────────────────────────────────────────

TEST(Case, ChargesTheLaneWhenItsSuspectIsAcquitted) {
    for (const Verdict verdict : {Verdict::answered, Verdict::bad_input, Verdict::model_failed,
                                  Verdict::non_finite, Verdict::out_of_memory}) {
        Gate gate(strict(2));
        gate.open();
        const JobId job = gate.queue_job();
        gate.dies(0);
        EXPECT_EQ(gate.state(0), LaneState::backoff) << "nobody is charged yet";
        gate.ends(job, verdict);
        EXPECT_EQ(gate.state(0), LaneState::failed) << name_of(verdict);
        EXPECT_EQ(gate.reason(0), Reason::crashed_too_often);
    }
}

TEST(Case, WaitsForTheLastSuspect) {
    SharedDeath scene;
    Gate& gate = scene.gate;
    gate.ends(scene.a);
    expect_not_charged(gate, 0);
    gate.ends(scene.b);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Case, ChargesALaneThatServesAgain) {
    Gate gate(strict(2));
    gate.open();
    const JobId suspect = gate.queue_job();
    replace_worker(gate, 0);
    const JobId last = gate.queue_job();
    ASSERT_EQ(gate.lane_of(last), LaneId{0});
    gate.ends(suspect);
    EXPECT_EQ(gate.state(0), LaneState::failed);
    gate.ends(last);
    EXPECT_EQ(gate.ended(last), EndReason::answered) << "its worker may finish";
    EXPECT_THAT(gate.deeds(), testing::Contains("stop w2 crashed_too_often"));
}

TEST(Case, ChargesNoLaneWhenTheSuspectDiesAloneAgain) {
    Gate gate(strict(3));
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.dies(gate.lane_of(job).value);
    EXPECT_EQ(gate.ended(job), EndReason::poison);
    gate.pass(1s);
    for (const std::uint64_t lane : {0, 1, 2}) expect_not_charged(gate, lane);
}

TEST(Case, IsNotChargedForASuspectThatDiesAgainThoughTheOtherIsAcquitted) {
    SharedDeath scene;
    Gate& gate = scene.gate;
    gate.dies(gate.lane_of(scene.a).value);
    gate.ends(scene.b);
    expect_not_charged(gate, 0);
    ASSERT_TRUE(gate.is_running(scene.a)) << "it has died alone once";
    gate.ends(scene.a);
    expect_not_charged(gate, 0);
    EXPECT_EQ(gate.state(1), LaneState::failed)
        << "its second ride died there, and it is acquitted";
}

TEST(Case, GoesOnWhenTheRideOfTheSuspectEndsByOrder) {
    Gate gate(strict(3));
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.tell(GpuLost{gate.lane_of(job)});
    ASSERT_TRUE(gate.is_running(job));
    gate.ends(job, Verdict::undelivered);
    ASSERT_TRUE(gate.is_running(job));
    expect_not_charged(gate, 0);
    gate.ends(job);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

// ── undecided ────────────────────────────────────────────────────────────────────────────────────

struct Undecided {
    std::string way;
    PoolSettings settings;
    std::function<void(Gate&)> happen;  // the gate is open; ends with the case closed
};

void dies_and_is_answered(Gate& gate, JobId job) {
    replace_worker(gate, 0);
    gate.ends(job);
}

TEST(Case, ChargesNobodyIfItCanNotBeDecided) {
    const auto with = [](auto change) {
        PoolSettings settings = strict(2);
        change(settings);
        return settings;
    };
    const std::vector<Undecided> ways{
        {"the client left", strict(2),
         [](Gate& gate) {
             const JobId job = gate.queue_job();
             gate.dies(0);
             gate.tell(ClientLeft{job});
             gate.ends(job);
         }},
        {"cancelled", strict(2),
         [](Gate& gate) {
             const JobId job = gate.queue_job();
             gate.dies(0);
             gate.tell(CancelAsked{job});
             gate.ends(job);
         }},
        {"its deadline passed", strict(2),
         [](Gate& gate) {
             const JobId job = gate.queue_job({.timeout = 10s});
             gate.dies(0);
             gate.pass(10s);
             gate.ends(job);
         }},
        {"job_timeout", with([](PoolSettings& it) { it.job_timeout = 10s; }),
         [](Gate& gate) {
             const JobId job = gate.queue_job();
             gate.dies(0);
             gate.pass(10s);
             gate.ends(job);
         }},
        {"pinned", strict(2),
         [](Gate& gate) { dies_and_is_answered(gate, gate.queue_job({.lane = 0})); }},
        {"an aside was aboard", strict(2),
         [](Gate& gate) {
             const JobId job = gate.queue_job();
             gate.queue_job({.lane = 0, .is_aside = true});
             dies_and_is_answered(gate, job);
         }},
        {"only an aside was aboard", strict(2),
         [](Gate& gate) {
             gate.queue_job({.lane = 0, .is_aside = true});
             gate.dies(0);
         }},
        {"retry = false", with([](PoolSettings& it) { it.may_retry = false; }),
         [](Gate& gate) {
             gate.queue_job();
             gate.dies(0);
         }},
        {"its answer had begun", strict(2),
         [](Gate& gate) {
             gate.begins(gate.queue_job());
             gate.dies(0);
         }},
        {"an abandoned attempt was aboard", strict(2, 2),
         [](Gate& gate) {
             const JobId job = gate.queue_job();
             const JobId pinned = gate.queue_job({.lane = 0});
             gate.tell(ClientLeft{pinned});
             dies_and_is_answered(gate, job);
         }},
        {"only an abandoned attempt was aboard", strict(2),
         [](Gate& gate) {
             gate.tell(ClientLeft{gate.queue_job()});
             gate.dies(0);
         }},
    };
    for (const Undecided& it : ways) {
        SCOPED_TRACE(it.way);
        Gate gate(it.settings);
        gate.open();
        it.happen(gate);
        EXPECT_EQ(gate.pool().running + gate.pool().queued, 0U) << "the case is closed";
        expect_not_charged(gate, 0);
        gate.pass(1s);
        if (gate.state(0) == LaneState::starting) gate.comes_up(0);
        EXPECT_EQ(gate.state(0), LaneState::ready);
    }
}

}  // namespace
}  // namespace turnpike
