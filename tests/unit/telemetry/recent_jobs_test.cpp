#include "telemetry/recent_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/telemetry/samples.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::uint64_t> newest_first(const RecentJobs& jobs) {
    std::vector<std::uint64_t> seen;
    for (std::size_t back = 0; back < jobs.size(); ++back)
        seen.push_back(jobs.newest(back).job.value);
    return seen;
}

TEST(RecentJobs, StartsEmpty) {
    const RecentJobs jobs;
    EXPECT_THAT(newest_first(jobs), IsEmpty());
    EXPECT_EQ(jobs.find(JobId{0}), nullptr);
    EXPECT_EQ(jobs.find(JobId{}), nullptr);
}

TEST(RecentJobs, KeepTheStacksOfTheLastFewSlowOnes) {
    RecentJobs jobs;
    EXPECT_EQ(jobs.stacks_of(JobId{}), "") << "an unused place";
    for (std::uint64_t number = 0; number < RecentJobs::stacks_max + 2; ++number)
        jobs.keep_stacks(JobId{number}, "stacks of " + std::to_string(number));
    EXPECT_EQ(jobs.stacks_of(JobId{0}), "");
    EXPECT_EQ(jobs.stacks_of(JobId{1}), "");
    EXPECT_EQ(jobs.stacks_of(JobId{2}), "stacks of 2");
    EXPECT_EQ(jobs.stacks_of(JobId{17}), "stacks of 17");
    EXPECT_EQ(jobs.stacks_of(JobId{18}), "");
}

TEST(RecentJobs, ShowsTheNewestFirst) {
    RecentJobs jobs(3);
    for (const std::uint64_t number : {1U, 2U}) jobs.add(numbered_job(number));
    EXPECT_THAT(newest_first(jobs), ElementsAre(2, 1));
}

TEST(RecentJobs, ForgetsTheOldestWhenFull) {
    RecentJobs jobs(3);
    for (std::uint64_t number = 1; number <= 7; ++number) jobs.add(numbered_job(number));
    EXPECT_THAT(newest_first(jobs), ElementsAre(7, 6, 5));
    EXPECT_EQ(jobs.find(JobId{4}), nullptr);
    ASSERT_NE(jobs.find(JobId{5}), nullptr);
    EXPECT_EQ(jobs.find(JobId{5})->id, numbered_job(5).id);
}

TEST(RecentJobs, KeepsAThousand) {
    RecentJobs jobs;
    for (std::uint64_t number = 0; number < 2500; ++number) jobs.add(numbered_job(number));
    EXPECT_EQ(jobs.size(), 1000U);
    EXPECT_EQ(jobs.newest(999).job, JobId{1500});
}

TEST(RecentJobs, NeverFindsOneRefusedJobForAnother) {
    RecentJobs jobs(3);
    JobRecord refused = sample_job();
    refused.job = JobId{};
    jobs.add(refused);
    EXPECT_EQ(jobs.find(JobId{}), nullptr);
    EXPECT_EQ(jobs.size(), 1U);
}

TEST(RecentJobs, FindsTheNewestUnderAnId) {
    RecentJobs jobs(3);
    JobRecord again = numbered_job(1);
    jobs.add(again);
    again.status = 500;
    jobs.add(again);
    EXPECT_EQ(jobs.find(JobId{1})->status, 500);
}

TEST(RecentJobsDeathTest, HasNothingBeyondTheOldest) {
    RecentJobs jobs(3);
    jobs.add(sample_job());
    EXPECT_DEATH(static_cast<void>(jobs.newest(1)), "CHECK failed: back < size_");
}

}  // namespace
}  // namespace turnpike
