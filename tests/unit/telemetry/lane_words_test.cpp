#include "telemetry/lane_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(LaneWords, AreThereForEveryStateAndReason) {
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(LaneState::quarantined); ++i)
        EXPECT_THAT(std::string(words_for(LaneState{i})), Not(IsEmpty())) << name_of(LaneState{i});
    for (std::uint8_t i = 1; i <= static_cast<std::uint8_t>(Reason::proof_due); ++i) {
        const std::string words(words_for(Reason{i}));
        EXPECT_THAT(words, Not(IsEmpty())) << name_of(Reason{i});
        EXPECT_THAT(words, Not(HasSubstr("_"))) << "names are not words for people";
        EXPECT_EQ(words_for_reason(name_of(Reason{i})), words);
    }
    EXPECT_EQ(words_for_reason("of_a_later_version"), "of_a_later_version");
}

TEST(LaneWords, MakeASentence) {
    EXPECT_EQ(
        sentence_of(
            {.lane = LaneId{0}, .state = LaneState::failed, .reason = Reason::crashed_too_often}),
        "lane 0 has failed: it crashed too often");
    EXPECT_EQ(sentence_of({.lane = LaneId{3}, .state = LaneState::drained}), "lane 3 is drained");
}

TEST(LaneWords, SayWhenAFailedLaneTriesAgain) {
    EXPECT_EQ(next_try_words(252s), "next try in 4 min 12 s");
    EXPECT_EQ(next_try_words(Duration::zero()), "");
    EXPECT_EQ(sentence_of({.lane = LaneId{1},
                           .state = LaneState::failed,
                           .reason = Reason::crashed_too_often,
                           .next_try = 12s}),
              "lane 1 has failed: it crashed too often, next try in 12.0 s");
}

TEST(LaneWords, AreAboutTheLanesOfOnePool) {
    const LaneView drained{
        .lane = LaneId{0}, .pool = PoolId{1}, .state = LaneState::drained, .reason = Reason::none};
    const LaneView failed{
        .lane = LaneId{2}, .pool = PoolId{1}, .state = LaneState::failed, .next_try = 252s};
    const LaneView other{.lane = LaneId{1}, .pool = PoolId{0}, .state = LaneState::ready};
    EXPECT_EQ(sentences_about_lanes({.pools = {}, .lanes = {drained, other, failed}}, PoolId{1}),
              "lane 0 is drained; lane 2 has failed, next try in 4 min 12 s");
    EXPECT_EQ(sentences_about_lanes({.pools = {}, .lanes = {drained}}, PoolId{0}), "");
}

}  // namespace
}  // namespace turnpike
