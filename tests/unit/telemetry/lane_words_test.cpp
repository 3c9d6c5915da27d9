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
    EXPECT_EQ(sentence_of(0, LaneState::failed, Reason::crashed_too_often),
              "lane 0 has failed: it crashed too often");
    EXPECT_EQ(sentence_of(3, LaneState::drained, Reason::none), "lane 3 is drained");
}

}  // namespace
}  // namespace turnpike
