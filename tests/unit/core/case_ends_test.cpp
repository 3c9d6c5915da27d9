// Cases that a broken link opens, and cases that are forgotten (blame.cpp, restart.cpp). In most of
// these tests one charge fails a lane, so that it can be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "core/blame.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::expect_not_charged;
using test::Gate;
using test::replace_worker;
using test::strict;

// ── broken links ─────────────────────────────────────────────────────────────────────────────────

/// The link of the only job aboard lane 0 broke; it rides on lane 1. No probe is answered.
struct BrokenLink {
    explicit BrokenLink(std::uint32_t lanes = 2) : gate(strict(lanes)) {
        gate.open();
        gate.leave_probes_to_me();
        job = gate.queue_job();
        gate.ends(job, Verdict::broken);
    }
    Gate gate;
    JobId job;
};

TEST(Case, TakesABrokenLinkAndALateExitForOneDeath) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.dies(0);  // its core is dumped
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "it was idle, but its case is open";
    EXPECT_EQ(gate.ended(scene.job), std::nullopt);
    gate.ends(scene.job);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Case, WaitsForTheLateExitAfterTheSuspectIsAcquitted) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.ends(scene.job);
    expect_not_charged(gate, 0);
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Case, ChargesNoLaneForALateExitIfTheSuspectDiesAgain) {
    BrokenLink scene(3);
    Gate& gate = scene.gate;
    gate.dies(gate.lane_of(scene.job).value);
    EXPECT_EQ(gate.ended(scene.job), EndReason::poison);
    gate.dies(0);
    expect_not_charged(gate, 0);
    expect_not_charged(gate, 1);
}

TEST(Case, IsDroppedWhenTheWorkerAnswersAProbe) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.answers_probe(gate.current(0));
    gate.ends(scene.job);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "nobody died";
}

TEST(Case, DoesNotExcuseALaterDeathOfAWorkerThatAnsweredAProbe) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.answers_probe(gate.current(0));
    gate.tell(ClientLeft{scene.job});  // would leave the case undecided
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::failed) << "an exit of its own, while it is idle";
}

TEST(Case, TreatsSilenceAfterABrokenLinkAsTheSameDeath) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.answers_probe(gate.current(0), ProbeVerdict::refused);
    EXPECT_EQ(gate.reason(0), Reason::not_answering);
    expect_not_charged(gate, 0);
    gate.ends(scene.job);
    EXPECT_EQ(gate.state(0), LaneState::failed);
}

TEST(Case, ChargesNobodyIfWeEndTheWorkerBeforeItsCaseIsDecided) {
    BrokenLink scene;
    Gate& gate = scene.gate;
    gate.drain(0);
    EXPECT_THAT(gate.deeds(), testing::ElementsAre("stop w0 drain_asked"));
    gate.dies(0);
    gate.resume(0);
    gate.comes_up(0);
    gate.ends(scene.job);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Case, IsClosedWithoutAChargeWhenItsWorkerEndsBecauseItsLaneFailed) {
    PoolSettings settings = strict(2, 2);
    settings.job_timeout = 1h;
    Gate gate(settings);
    gate.open();
    gate.leave_probes_to_me();
    const JobId first = gate.queue_job();
    replace_worker(gate, 0);
    const JobId broken = gate.queue_job();
    const JobId last = gate.queue_job();
    ASSERT_EQ(gate.lane_of(broken), LaneId{0});
    gate.ends(broken, Verdict::broken);
    gate.ends(first);
    ASSERT_EQ(gate.state(0), LaneState::failed);
    gate.ends(last);
    gate.dies(0);
    gate.pass(5min);
    gate.comes_up(0);
    gate.ends(broken);
    EXPECT_EQ(gate.state(0), LaneState::ready) << "its worker did not die by itself";
}

// ── forgotten ────────────────────────────────────────────────────────────────────────────────────

TEST(Case, ChargesNothingToALaneThatIsOff) {
    Gate gate({.lanes = 3, .crash_limit = 1});
    gate.open();
    const JobId job = test::job_on(gate, 0);
    gate.drain(0);
    gate.dies(0);
    ASSERT_EQ(gate.state(0), LaneState::drained);
    gate.resume(0);
    gate.comes_up(0);
    gate.ends(job);
    ASSERT_EQ(gate.ended(job), EndReason::answered);
    expect_not_charged(gate, 0);
}

TEST(Case, IsForgottenWhenAPersonRestartsTheLane) {
    Gate gate(strict(2));
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.restart(0);
    gate.ends(job);
    expect_not_charged(gate, 0);
}

TEST(Case, IsForgottenWhenAGenerationBecomesGood) {
    PoolSettings settings = strict(2);
    settings.crash_limit = 2;
    Gate gate(settings);
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.reload(2);
    gate.comes_up(gate.other(0)), gate.comes_up(gate.other(1));
    gate.ends(job);
    gate.dies(gate.other(1));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "its first crash";
}

TEST(Case, DoesNotAddUpLoneDeathsOfTwoGenerations) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.reload(2);
    gate.comes_up(gate.other(0));
    ASSERT_TRUE(gate.is_running(job));
    replace_worker(gate, 0);
    EXPECT_TRUE(gate.is_running(job)) << "one lone death in each generation";
    gate.dies(0);
    EXPECT_EQ(gate.ended(job), EndReason::poison) << "two in the second";
}

}  // namespace
}  // namespace turnpike
