// Equal plans give equal runs. Leaving a stimulus out changes only what it touched.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace turnpike::sim {
namespace {

TEST(World, GivesTheSameTraceForTheSameSeed) {
    for (const Scenario& scenario : all_scenarios()) {
        const Plan plan = make_plan(scenario, 11);
        const RunResult first = run_plan(plan, Tracing::on);
        const RunResult second = run_plan(plan, Tracing::on);
        EXPECT_EQ(first.hash, second.hash) << scenario.name;
        EXPECT_EQ(first.trace, second.trace) << scenario.name;
        EXPECT_GT(first.events, 10U) << scenario.name;
    }
}

TEST(World, HasAHashThatDoesNotDependOnWritingTheTraceDown) {
    const Plan plan = make_plan(*find_scenario("everything"), 5);
    EXPECT_EQ(run_plan(plan, Tracing::off).hash, run_plan(plan, Tracing::on).hash);
    EXPECT_TRUE(run_plan(plan, Tracing::off).trace.empty());
}

TEST(World, HasDifferentHashesForDifferentSeeds) {
    const Scenario& scenario = *find_scenario("calm");
    EXPECT_NE(run_plan(make_plan(scenario, 1), Tracing::off).hash,
              run_plan(make_plan(scenario, 2), Tracing::off).hash);
}

TEST(World, IsUnchangedUpToTheStimulusThatIsLeftOut) {
    const Plan whole = make_plan(*find_scenario("everything"), 6);
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 0; id < whole.stimuli.size() / 2; ++id) ids.push_back(id);
    const std::string mark =
        "# stimulus " + std::to_string(whole.stimuli[whole.stimuli.size() / 2].id) + ":";
    const std::string before = run_plan(whole, Tracing::on).trace;
    const std::string after = run_plan(with_only(whole, ids), Tracing::on).trace;
    const std::string common = before.substr(0, before.rfind('\n', before.find(mark)));
    ASSERT_GT(common.size(), 1000U);
    EXPECT_EQ(after.substr(0, common.size()), common);
}

/// Returns when and how each client's job ended, from the trace.
std::map<std::string, std::string> fates_in(const std::string& trace) {
    std::map<std::string, std::string> ticket_of;
    std::map<std::string, std::string> fates;
    std::istringstream lines(trace);
    std::string time;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string arrow, name, first, second;
        words >> arrow >> name >> first >> second;
        if (arrow != "→")
            time = arrow;
        else if (name == "AdmitJob")
            ticket_of[second] = first;
        else if (name == "EndJob")
            fates[ticket_of[first]] = time + " " + second;
    }
    return fates;
}

TEST(World, LeavesTheJobsOfOnePoolAloneWhenThoseOfAnotherAreLeftOut) {
    const Scenario& calm = *find_scenario("calm");
    std::uint64_t seed = 1;
    while (make_plan(calm, seed).settings.pools.size() < 2) ++seed;
    const Plan whole = make_plan(calm, seed);
    std::vector<std::uint32_t> ids;
    for (const Stimulus& stimulus : whole.stimuli)
        if (std::get<JobScript>(stimulus.payload).pool != PoolId{0}) ids.push_back(stimulus.id);
    ASSERT_FALSE(ids.empty());
    const auto before = fates_in(run_plan(whole, Tracing::on).trace);
    const auto after = fates_in(run_plan(with_only(whole, ids), Tracing::on).trace);
    for (const std::uint32_t id : ids) {
        const std::string ticket = "ticket=" + std::to_string(id);
        ASSERT_TRUE(after.contains(ticket));
        EXPECT_EQ(after.at(ticket), before.at(ticket));
    }
}

TEST(World, HoldsEveryInvariantInASeedOfEachScenario) {
    for (const Scenario& scenario : all_scenarios()) {
        const RunResult run = run_plan(make_plan(scenario, 2), Tracing::off);
        EXPECT_FALSE(run.violation.has_value())
            << scenario.name << ": " << run.violation->invariant << ": " << run.violation->detail;
    }
}

}  // namespace
}  // namespace turnpike::sim
