// How long a poison is remembered (poison.cpp).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/poison.h"
#include "tests/unit/core/gate.h"
#include "tests/unit/core/poison_scene.h"

namespace turnpike {
namespace {

using test::Gate;
using test::KnownPoison;
using test::poison;

TEST(PoisonMemory, IsRememberedForAWhile) {
    KnownPoison scene({.poison_keep = 10min});
    scene.gate.pass(10min - 1min - 1ns);  // one minute has passed since it was found
    EXPECT_TRUE(scene.is_compared());
    scene.gate.pass(1ns);
    EXPECT_FALSE(scene.is_compared());
}

TEST(PoisonMemory, MayBeForgottenWhileAJobIsCompared) {
    KnownPoison scene({.poison_keep = 2min});
    const JobId job = scene.equal();
    scene.gate.pass(2min);
    scene.gate.hashed(job, 7);
    EXPECT_TRUE(scene.gate.is_running(job));
}

TEST(PoisonMemory, IsRememberedUpTo64Jobs) {
    KnownPoison scene({.poison_keep = 24h});
    Gate& gate = scene.gate;
    for (std::uint32_t i = 1; i < poisons_max; ++i) {
        gate.ends(gate.queue_job());
        poison(gate, Bytes{1000 + i});
    }
    EXPECT_TRUE(scene.is_compared());
    gate.ends(gate.queue_job());
    poison(gate, Bytes{2000});
    EXPECT_FALSE(scene.is_compared()) << "the oldest one";
    EXPECT_TRUE(scene.is_compared(Bytes{1001})) << "the second oldest";
    EXPECT_TRUE(scene.is_compared(Bytes{2000}));
}

TEST(PoisonMemory, IsForgottenWhenAPersonRestartsALane) {
    KnownPoison scene;
    scene.gate.restart(0);
    EXPECT_FALSE(scene.is_compared());
}

TEST(PoisonMemory, IsForgottenWhenAGenerationBecomesGood) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    EXPECT_TRUE(scene.is_compared()) << "it is only tried";
    gate.comes_up(gate.other(0));
    EXPECT_FALSE(scene.is_compared());
}

TEST(PoisonMemory, IsForgottenWhenThreeInARowShowThatItIsTheModel) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    gate.hashed(poison(gate, Bytes{200}), 8);
    EXPECT_TRUE(scene.is_compared());
    gate.hashed(poison(gate, Bytes{300}), 9);
    EXPECT_FALSE(scene.is_compared());
    EXPECT_FALSE(scene.is_compared(Bytes{300})) << "nor is the third remembered";
}

TEST(PoisonMemory, IsNotForgottenIfTheSameJobComesSeveralTimes) {
    Gate gate({.lanes = 4});
    gate.open();
    const std::vector<JobId> jobs = gate.queue_jobs(3);  // none is known yet, so all run
    const auto all_die = [&] {
        for (const LaneView& lane : gate.view().lanes)
            if (lane.aboard > 0) gate.dies(lane.current);
    };
    all_die();
    gate.pass(300ms);
    for (const LaneView& lane : gate.view().lanes)
        if (lane.state == LaneState::starting) gate.comes_up(lane.current);
    all_die(), all_die();
    for (const JobId job : jobs) {
        ASSERT_EQ(gate.ended(job), EndReason::poison);
        gate.hashed(job, 7);
    }
    const JobId again = gate.queue_job();
    ASSERT_EQ(gate.acts<HashJob>().size(), 1U);
    gate.hashed(again, 7);
    EXPECT_EQ(gate.ended(again), EndReason::known_poison);
}

TEST(PoisonMemory, NeedsTwoWorkersThatExited) {
    Gate gate({.lanes = 3});
    gate.open();
    const JobId job = gate.queue_job({.bytes = Bytes{100}});
    gate.ends(job, Verdict::broken), gate.ends(job, Verdict::broken);
    ASSERT_EQ(gate.ended(job), EndReason::poison);
    EXPECT_EQ(gate.acts<HashJob>().size(), 0U) << "no worker died";
    gate.queue_job({.bytes = Bytes{100}});
    EXPECT_EQ(gate.acts<HashJob>().size(), 0U);
}

TEST(PoisonMemory, IsRememberedIfTheModelAnswersInBetween) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    gate.hashed(poison(gate, Bytes{200}), 8);
    gate.ends(gate.queue_job(), Verdict::bad_input);
    gate.hashed(poison(gate, Bytes{300}), 9);
    EXPECT_TRUE(scene.is_compared());
    EXPECT_TRUE(scene.is_compared(Bytes{300}));
}

}  // namespace
}  // namespace turnpike
