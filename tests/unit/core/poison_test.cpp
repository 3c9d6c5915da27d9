#include "core/poison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"
#include "tests/unit/core/poison_scene.h"

namespace turnpike {
namespace {

using test::bring_up_all;
using test::Gate;
using test::KnownPoison;
using test::poison;
using test::replace_worker;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// ── what is remembered ───────────────────────────────────────────────────────────────────────────

TEST(Poison, IsHashedBeforeItEnds) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.queue_job();
    gate.dies(0);
    gate.exits(gate.current(1));
    EXPECT_THAT(gate.deeds(), ElementsAre("hash j0", "end j0 poison", "kill w1 exited"));
}

TEST(Poison, IsNotRememberedIfTheLaneMayBeTheCause) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    replace_worker(gate, 0);
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.ended(job), EndReason::poison);
    EXPECT_THAT(gate.acts<HashJob>(), IsEmpty()) << "both deaths on one lane";
    gate.becomes_gone(gate.current(0));
    bring_up_all(gate);
    EXPECT_TRUE(gate.is_running(gate.queue_job()));
}

TEST(Poison, IsRememberedIfItsLaneAnsweredAnotherJobInBetween) {
    Gate gate({.lanes = 1, .slots = 2});
    gate.open();
    const JobId bad = gate.queue_job();
    const JobId good = gate.queue_job();
    replace_worker(gate, 0);  // shared
    replace_worker(gate, 0);  // alone
    ASSERT_TRUE(gate.is_running(good));
    gate.ends(good);
    ASSERT_TRUE(gate.is_running(bad));
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.ended(bad), EndReason::poison);
    EXPECT_THAT(gate.acts<HashJob>(), SizeIs(1));
}

TEST(Poison, IsNotRememberedIfItsLaneOnlyEndedAnotherJobInBetween) {
    Gate gate({.lanes = 1, .slots = 2, .cancel = CancelPolicy::close});
    gate.open();
    const JobId bad = gate.queue_job();
    const JobId other = gate.queue_job();
    replace_worker(gate, 0);
    replace_worker(gate, 0);
    gate.tell(ClientLeft{other});
    gate.ends(other, Verdict::cancelled);
    gate.exits(gate.current(0));
    EXPECT_EQ(gate.ended(bad), EndReason::poison);
    EXPECT_THAT(gate.acts<HashJob>(), IsEmpty()) << "it answered nothing";
}

TEST(Poison, IsNeverRememberedIfItIsKeptForNoTime) {
    KnownPoison scene({.poison_keep = Duration::zero()});
    EXPECT_TRUE(scene.gate.is_running(scene.equal()));
}

TEST(Poison, IsKnownToItsOwnPoolOnly) {
    Gate gate(test::settings_with({{.lanes = 2}, {.lanes = 1}}));
    gate.open();
    gate.hashed(poison(gate, Bytes{100}), 7);
    EXPECT_TRUE(gate.is_running(gate.queue_job({.pool = 1, .bytes = Bytes{100}})));
}

// ── jobs that may equal it ───────────────────────────────────────────────────────────────────────

TEST(Poison, IsComparedWithJobsOfTheSameLengthBeforeTheyAreQueued) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = scene.equal();
    EXPECT_THAT(gate.deeds(), ElementsAre("admit j1", "hash j1"));
    EXPECT_FALSE(gate.is_queued(job) || gate.is_running(job)) << "though a lane is free";
    EXPECT_EQ(gate.pool().arriving, 1U);
    for (const std::uint64_t length : {0, 99, 101})
        EXPECT_FALSE(scene.is_compared(Bytes{length})) << length;
}

TEST(Poison, EndsAnEqualJobAtOnceAndNamesTheFirst) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = scene.equal();
    gate.hashed(job, 7);
    EXPECT_THAT(gate.turn(), ElementsAre("end j1 known_poison"));
    const EndJob end = gate.acts<EndJob>().front();
    EXPECT_EQ(end.first, scene.first);
    EXPECT_EQ(end.attempts, 0U);
    EXPECT_TRUE(end.attempt.is_none());
    EXPECT_EQ(gate.pool().counts.failed, 2U);
    EXPECT_EQ(gate.pool().arriving, 0U);
}

TEST(Poison, RunsAJobThatDiffers) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = scene.equal();
    gate.hashed(job, 8);
    EXPECT_TRUE(gate.is_running(job));
    gate.ends(job);
    EXPECT_EQ(gate.ended(job), EndReason::answered);
    EXPECT_TRUE(gate.acts<EndJob>().front().first.is_none());
}

TEST(Poison, ComparesBothHalvesOfTheDigest) {
    KnownPoison scene;
    const JobId job = scene.equal();
    scene.gate.tell(JobHashed{job, {.high = 1, .low = 7}});
    EXPECT_TRUE(scene.gate.is_running(job));
}

TEST(Poison, IsNotComparedWithAsides) {
    KnownPoison scene;
    EXPECT_TRUE(
        scene.gate.is_running(scene.gate.queue_job({.bytes = Bytes{100}, .is_aside = true})));
}

TEST(Poison, EqualsNothingUntilItsOwnDigestIsKnown) {
    Gate gate({.lanes = 2});
    gate.open();
    const JobId first = poison(gate, Bytes{100});
    const JobId early = gate.queue_job({.bytes = Bytes{100}});
    gate.hashed(early, 7);
    EXPECT_TRUE(gate.is_running(early));
    gate.hashed(first, 7);
    EXPECT_TRUE(gate.is_running(early)) << "it is under way";
    const JobId late = gate.queue_job({.bytes = Bytes{100}});
    gate.hashed(late, 7);
    EXPECT_EQ(gate.ended(late), EndReason::known_poison);
}

TEST(Poison, IgnoresADigestThatNobodyWaitsFor) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    gate.hashed(scene.first, 8);
    gate.hashed(JobId{12345}, 7);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "unknown";
    const JobId other = gate.queue_job({.bytes = Bytes{5}});
    gate.hashed(other, 7);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "it runs, and was not asked for";
    const JobId job = scene.equal();
    gate.hashed(job, 8);
    ASSERT_TRUE(gate.is_running(job)) << "the first digest of the poison counts";
    gate.hashed(job, 7);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "twice";
    const JobId arriving = gate.arrive({.bytes = Bytes{100}});
    gate.hashed(arriving, 7);
    EXPECT_THAT(gate.turn(), IsEmpty()) << "its body is not complete";
}

// ── while a job is compared ──────────────────────────────────────────────────────────────────────

TEST(Poison, LetsTheClientOfAComparedJobLeave) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = scene.equal();
    gate.tell(ClientLeft{job});
    EXPECT_THAT(gate.turn(), ElementsAre("end j1 client_left"));
    EXPECT_EQ(gate.pool().arriving, 0U);
    gate.hashed(job, 7);
    EXPECT_THAT(gate.turn(), IsEmpty());
}

TEST(Poison, LetsTheDeadlineOfAComparedJobPass) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = gate.queue_job({.bytes = Bytes{100}, .timeout = 3s});
    gate.pass(3s);
    EXPECT_EQ(gate.ended(job), EndReason::deadline_passed);
}

TEST(Poison, TakesNothingMoreOfTheBodyOfAComparedJob) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    const JobId job = scene.equal();
    gate.forgo_invariants();
    gate.tell(BodyCompleted{job, Bytes{100}});
    gate.tell(BodyGrew{job, Bytes{200}});
    gate.tell(BodyFailed{job});
    EXPECT_THAT(gate.turn(), IsEmpty());
    gate.hashed(job, 7);
    EXPECT_EQ(gate.ended(job), EndReason::known_poison);
}

}  // namespace
}  // namespace turnpike
