// The job path allocates nothing: every allocation of this program is counted.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bench/allocations.h"
#include "bench/steady_gate.h"

namespace turnpike {
namespace {

std::uint64_t allocations_of_a_thousand_jobs(const PoolSettings& pool, std::uint32_t waiting) {
    SteadyGate gate(pool, waiting);
    const auto run = [&] {
        for (int i = 0; i < 1000; ++i) gate.one_job();
    };
    run();
    const std::uint64_t before = allocations;
    run();
    return allocations - before;
}

TEST(Allocation, DoesNotHappenOnTheJobPathWhenLanesAreFree) {
    EXPECT_EQ(allocations_of_a_thousand_jobs({.lanes = 4}, 0), 0U);
}

TEST(Allocation, DoesNotHappenOnTheJobPathWhenJobsWait) {
    EXPECT_EQ(allocations_of_a_thousand_jobs({.lanes = 4}, 500), 0U);
}

TEST(Allocation, DoesNotHappenOnTheJobPathWithSlots) {
    EXPECT_EQ(allocations_of_a_thousand_jobs({.lanes = 2, .slots = 8}, 100), 0U);
}

TEST(Allocation, IsCounted) {
    const std::uint64_t before = allocations;
    std::vector<int> numbers;
    numbers.reserve(1000);
    EXPECT_EQ(allocations - before, 1U);
}

}  // namespace
}  // namespace turnpike
