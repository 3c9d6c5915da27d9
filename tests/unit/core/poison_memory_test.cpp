// How long a poison is remembered (poison.cpp).
#include <gtest/gtest.h>

#include <cstdint>

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
    poison(gate, Bytes{200});
    EXPECT_TRUE(scene.is_compared());
    poison(gate, Bytes{300});
    EXPECT_FALSE(scene.is_compared());
    EXPECT_FALSE(scene.is_compared(Bytes{300})) << "nor is the third remembered";
}

TEST(PoisonMemory, IsRememberedIfTheModelAnswersInBetween) {
    KnownPoison scene;
    Gate& gate = scene.gate;
    poison(gate, Bytes{200});
    gate.ends(gate.queue_job(), Verdict::bad_input);
    poison(gate, Bytes{300});
    EXPECT_TRUE(scene.is_compared());
    EXPECT_TRUE(scene.is_compared(Bytes{300}));
}

}  // namespace
}  // namespace turnpike
