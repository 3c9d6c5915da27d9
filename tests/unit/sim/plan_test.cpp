// Plans are the same for the same seed, are valid for the engine, and have independent stimuli.
#include "sim/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace turnpike::sim {
namespace {

std::vector<std::string> lines_of(const Plan& plan) {
    std::vector<std::string> lines;
    for (const Stimulus& stimulus : plan.stimuli)
        lines.push_back(std::to_string(stimulus.at.count()) + " " + describe(stimulus));
    return lines;
}

TEST(Plan, IsTheSameForTheSameScenarioAndSeed) {
    for (const Scenario& scenario : all_scenarios())
        EXPECT_EQ(lines_of(make_plan(scenario, 7)), lines_of(make_plan(scenario, 7)));
}

TEST(Plan, DiffersBetweenSeedsAndBetweenScenarios) {
    const Scenario& crashes = *find_scenario("crashes");
    EXPECT_NE(lines_of(make_plan(crashes, 1)), lines_of(make_plan(crashes, 2)));
    EXPECT_NE(make_plan(crashes, 1).seed, make_plan(*find_scenario("hangs"), 1).seed);
}

TEST(Plan, NumbersItsStimuliInTheOrderOfTimeAndEndsThemBeforeTheCalm) {
    for (const Scenario& scenario : all_scenarios()) {
        const Plan plan = make_plan(scenario, 3);
        EXPECT_TRUE(std::ranges::is_sorted(plan.stimuli, {}, &Stimulus::at));
        EXPECT_EQ(plan.calm_at % plan.grain, 0ns);
        for (std::uint32_t id = 0; id < plan.stimuli.size(); ++id) {
            EXPECT_EQ(plan.stimuli[id].id, id);
            EXPECT_LE(plan.stimuli[id].at, plan.calm_at - quiet_before_calm);
        }
    }
}

TEST(Plan, KillsOnCancelOnlyWhereOneJobIsAboard) {
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        for (const PoolSettings& pool : make_plan(scenario_of(seed), seed).settings.pools)
            if (pool.cancel == CancelPolicy::kill) {
                EXPECT_EQ(pool.slots * pool.batch, 1U);
            }
}

TEST(Plan, KeepsTheChosenStimuliAsTheyWere) {
    const Plan whole = make_plan(*find_scenario("everything"), 4);
    const std::vector<std::uint32_t> ids{1, 5, 8};
    const Plan part = with_only(whole, ids);
    ASSERT_EQ(part.stimuli.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(describe(part.stimuli[i]), describe(whole.stimuli[ids[i]]));
}

TEST(Plan, KnowsWhichPoolALaneBelongsTo) {
    Plan plan;
    plan.settings.pools = {PoolSettings{.lanes = 2}, PoolSettings{.lanes = 1}};
    EXPECT_EQ(plan.lanes(), 3U);
    EXPECT_EQ(plan.pool_of(LaneId{1}), PoolId{0});
    EXPECT_EQ(plan.pool_of(LaneId{2}), PoolId{1});
    EXPECT_TRUE(plan.pool_of(LaneId{3}).is_none());
}

TEST(Plan, StallsAnUploadOnlyIfTheClientLeavesLater) {
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        for (const Stimulus& stimulus : make_plan(scenario_of(seed), seed).stimuli)
            if (const auto* job = std::get_if<JobScript>(&stimulus.payload); job && job->stalls) {
                EXPECT_NE(job->leaves_after, Duration::max());
            }
}

TEST(Plan, GivesJobsOfEqualContentTheSameBytesAndTheSameEnding) {
    std::size_t resent = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::map<std::uint32_t, JobScript> contents;
        for (const Stimulus& stimulus : make_plan(scenario_of(seed), seed).stimuli) {
            const auto* job = std::get_if<JobScript>(&stimulus.payload);
            if (job == nullptr || job->content == 0) continue;
            const auto [first, is_new] = contents.emplace(job->content, *job);
            resent += is_new ? 0U : 1U;
            EXPECT_EQ(job->total, first->second.total);
            EXPECT_EQ(job->ending, first->second.ending);
            EXPECT_EQ(job->ending_times, first->second.ending_times);
            EXPECT_EQ(job->blocks, first->second.blocks);
        }
    }
    EXPECT_GT(resent, 100U);
}

TEST(Plan, HasJobsThatAreAsLongAsAPoisonousOneWithOtherContent) {
    std::size_t twins = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::map<std::uint64_t, std::uint32_t> poisons;
        const Plan plan = make_plan(*find_scenario("poison"), seed);
        for (const Stimulus& stimulus : plan.stimuli)
            if (const auto* job = std::get_if<JobScript>(&stimulus.payload))
                if (job->ending == Ending::kills_worker && job->content != 0)
                    poisons[job->total.count] = job->content;
        for (const Stimulus& stimulus : plan.stimuli)
            if (const auto* job = std::get_if<JobScript>(&stimulus.payload))
                if (const auto poison = poisons.find(job->total.count); poison != poisons.end())
                    twins += poison->second != job->content ? 1U : 0U;
    }
    EXPECT_GT(twins, 20U);
}

TEST(Plan, DrawsWaitsThatAreReachedInARun) {
    std::size_t ruled = 0;
    std::size_t overridden = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        for (const PoolSettings& pool : make_plan(scenario_of(seed), seed).settings.pools) {
            ++(pool.abandon_after == 0s ? ruled : overridden);
            EXPECT_LE(pool.abandon_after, 5s);
            EXPECT_LE(pool.poison_keep, 60s);
            EXPECT_GE(pool.revive_every, 1s);
            EXPECT_LE(pool.revive_every, 20s);
        }
    EXPECT_GT(ruled, overridden);
    EXPECT_GT(overridden, 0U);
}

TEST(Plan, HasOnlyAttachedWorkersThatSpeakHttp) {
    Plan plan{.native = 100};
    plan.settings.pools = {PoolSettings{}, PoolSettings{.ownership = Ownership::attached}};
    EXPECT_TRUE(plan.is_native(LaneId{0}));
    EXPECT_FALSE(plan.is_native(LaneId{1}));
}

TEST(Scenario, IsFoundByItsNameOrBySeed) {
    for (const Scenario& scenario : all_scenarios())
        EXPECT_EQ(find_scenario(scenario.name), &scenario);
    EXPECT_EQ(find_scenario("no such thing"), nullptr);
    EXPECT_EQ(&scenario_of(0), &scenario_of(all_scenarios().size()));
}

}  // namespace
}  // namespace turnpike::sim
