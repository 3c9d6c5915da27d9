#include "setup/descriptor_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "gate/gate.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

DescriptorNeeds needs(std::uint64_t limit) {
    return {.limit = limit,
            .open = 5,
            .lanes = 4,
            .workers = 8,
            .pools = 1,
            .links_max = 4,
            .bodies_max = 1024,
            .answers_max = 2048,
            .wanted = 12000};
}

TEST(DescriptorPlan, LeavesConnectionsAsWantedUnderAHighLimit) {
    EXPECT_EQ(connections_for(needs(1'000'000)), 12000U);
    EXPECT_EQ(connections_for(needs(20'000)), 12000U);
}

TEST(DescriptorPlan, CountsWhatAConnectionMayStillNeed) {
    const std::uint32_t clients = connections_for(needs(1024)).value();
    EXPECT_LT(clients, 1024U / 3);
    EXPECT_GT(clients, 1024U / 5);
}

/// A pool that starts its workers, with two lanes of three slots.
PoolConfig started() {
    PoolConfig pool{.worker = {.command = "serve {port}"}};
    pool.settings.lanes = 2;
    pool.settings.slots = 3;
    return pool;
}

DescriptorNeeds needs_of(PoolConfig pool) {
    Config config;
    config.pools = {std::move(pool)};
    return descriptor_needs(config, 2, 0, 1024);
}

TEST(DescriptorPlan, CountsTheNextWorkersOfAReload) {
    for (const ReloadChoice how : {ReloadChoice::automatic, ReloadChoice::beside}) {
        PoolConfig pool = started();
        pool.worker.reload = how;
        EXPECT_EQ(needs_of(pool).workers, 4U);
    }
    PoolConfig pool = started();
    pool.worker.reload = ReloadChoice::in_place;
    EXPECT_EQ(needs_of(pool).workers, 2U);
    EXPECT_EQ(needs_of(PoolConfig{.attach = {{}, {}}}).workers, 0U);
}

TEST(DescriptorPlan, CountsTheLinksOfAsides) {
    PoolConfig pool = started();
    EXPECT_EQ(needs_of(pool).links_max, 6U);
    pool.settings.aside_max = 5;
    EXPECT_EQ(needs_of(pool).links_max, 6U) << "it has none";
    pool.aside = {AsideRule{}};
    EXPECT_EQ(needs_of(pool).links_max, 2U * (3 + 5));
}

TEST(DescriptorPlan, KeepsDescriptorsForWhatIsNoClient) {
    const std::uint32_t before = connections_for(needs(1024)).value();
    DescriptorNeeds reloading = needs(1024);
    reloading.workers += 30;
    EXPECT_LT(connections_for(reloading).value(), before);
    DescriptorNeeds with_asides = needs(1024);
    with_asides.links_max += 30;
    EXPECT_LT(connections_for(with_asides).value(), before);
    DescriptorNeeds with_commands = needs(1024);
    with_commands.command_lines += 30;
    EXPECT_LT(connections_for(with_commands).value(), before);
    EXPECT_EQ(needs_of(started()).command_lines, Gate::command_lines_max);
}

TEST(DescriptorPlan, LeavesMoreToClientsTheHigherTheLimitIs) {
    std::uint32_t before = 0;
    for (std::uint64_t limit = 256; limit < 100'000; limit += 97) {
        const std::uint32_t now = connections_for(needs(limit)).value();
        EXPECT_GE(now, before);
        before = now;
    }
}

TEST(DescriptorPlan, RefusesALimitThatIsTooLowAndSaysWhatIsNeeded) {
    for (std::uint64_t limit = 0; limit < 64; ++limit) {
        const auto none = connections_for(needs(limit));
        ASSERT_FALSE(none);
        EXPECT_THAT(none.error(), HasSubstr("open files are allowed"));
        EXPECT_THAT(none.error(), HasSubstr("ulimit -n"));
    }
}

TEST(DescriptorPlan, NeverAllowsMoreThanIsWanted) {
    DescriptorNeeds few = needs(100'000);
    few.wanted = 3;
    EXPECT_EQ(connections_for(few), 3U);
}

}  // namespace
}  // namespace turnpike
