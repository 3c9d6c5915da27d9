// A campaign has the same result on one thread as on many.
#include "sim/campaign.h"

#include <gtest/gtest.h>

namespace turnpike::sim {
namespace {

RunList first_seeds(std::uint64_t count) {
    return {.count = count, .at = [](std::uint64_t index) {
                return RunName{.scenario = &scenario_of(index), .seed = index};
            }};
}

TEST(Campaign, GivesTheSameOnOneThreadAndOnMany) {
    const CampaignResult one = run_all(first_seeds(40), {.threads = 1, .want_hashes = true});
    const CampaignResult many = run_all(first_seeds(40), {.threads = 4, .want_hashes = true});
    EXPECT_EQ(one.hashes, many.hashes);
    EXPECT_EQ(one.events, many.events);
    EXPECT_EQ(table_of(one.coverage), table_of(many.coverage));
}

TEST(Campaign, CountsItsRuns) {
    const CampaignResult result = run_all(first_seeds(25), {.threads = 2});
    EXPECT_EQ(result.runs, 25U);
    EXPECT_TRUE(result.failures.empty());
    EXPECT_TRUE(result.hashes.empty());
}

TEST(Coverage, NamesWhatNeverOccurred) {
    const CampaignResult result = run_all(first_seeds(1), {});
    const std::string table = table_of(result.coverage);
    EXPECT_NE(table.find("JobArrived"), std::string::npos);
    EXPECT_NE(table.find("never occurred"), std::string::npos);
    EXPECT_NE(table.find("worker ended: gpu_lost"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::sim
