#include "setup/descriptor_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;

DescriptorNeeds needs(std::uint64_t limit) {
    return {.limit = limit,
            .open = 5,
            .lanes = 4,
            .pools = 1,
            .slots = 4,
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
