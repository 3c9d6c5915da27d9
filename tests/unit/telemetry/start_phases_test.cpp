#include "telemetry/start_phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace turnpike {
namespace {

using testing::ElementsAre;

TEST(StartPhases, AreInTheOrderInWhichTheyHappen) {
    const StartTimes start{
        .spawn = 1ms, .listen = 2ms, .import = 3ms, .load = 4ms, .proof = 5ms, .first_job = 6ms};
    std::vector<std::string> shown;
    for (const StartPhase& phase : start_phases)
        shown.push_back(std::string(phase.word) + ' ' +
                        std::to_string((start.*phase.time)->count() / 1'000'000));
    EXPECT_THAT(shown,
                ElementsAre("spawn 1", "listen 2", "import 3", "load 4", "proof 5", "first job 6"));
}

TEST(StartPhases, HaveKeysOfTheirOwnInMilliseconds) {
    std::set<std::string_view> keys;
    for (const StartPhase& phase : start_phases) {
        EXPECT_TRUE(phase.key.ends_with("_ms")) << phase.key;
        EXPECT_TRUE(keys.insert(phase.key).second) << phase.key << " is there twice";
    }
}

TEST(StartPhases, EndWithTheFirstJobWhichIsNotPartOfComingUp) {
    EXPECT_EQ(first_job_phase.time, &StartTimes::first_job);
    for (const StartPhase& phase : phases_until_serving)
        EXPECT_NE(phase.time, &StartTimes::first_job);
    EXPECT_EQ(phases_until_serving.size() + 1, start_phases.size());
}

TEST(StartPhases, ListenOnlyIfHttpAndImportOnlyIfNative) {
    for (const StartPhase& phase : start_phases) {
        const auto expected = phase.word == "listen"   ? StartPhase::Workers::http
                              : phase.word == "import" ? StartPhase::Workers::native
                                                       : StartPhase::Workers::all;
        EXPECT_EQ(phase.workers, expected) << phase.word;
    }
}

}  // namespace
}  // namespace turnpike
