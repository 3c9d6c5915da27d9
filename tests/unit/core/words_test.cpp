#include "core/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace turnpike {
namespace {

using testing::MatchesRegex;

/// Checks that every value up to `last` has a name of its own.
template <class Word>
void expect_names_up_to(Word last) {
    std::set<std::string_view> seen;
    for (int value = 0; value <= static_cast<int>(last); ++value) {
        const std::string_view name = name_of(static_cast<Word>(value));
        EXPECT_THAT(std::string(name), MatchesRegex("[a-z_]+")) << value;
        EXPECT_TRUE(seen.insert(name).second) << name << " names two values";
    }
    EXPECT_EQ(name_of(static_cast<Word>(static_cast<int>(last) + 1)), "?");
}

TEST(Words, HaveANameForEveryValue) {
    expect_names_up_to(Verdict::shortage);
    expect_names_up_to(EndReason::answer_lost);
    expect_names_up_to(Departure::answer_lost);
    expect_names_up_to(Outcome::refused);
    expect_names_up_to(LaneState::quarantined);
    expect_names_up_to(Reason::proof_due);
    expect_names_up_to(ProofVerdict::not_sent);
    expect_names_up_to(ProbeVerdict::not_sent);
    expect_names_up_to(ExitCause::shortage);
    expect_names_up_to(Memory::held);
    expect_names_up_to(CancelPolicy::kill);
    expect_names_up_to(ProofKind::agree);
    expect_names_up_to(ReloadKind::in_place);
    expect_names_up_to(Ownership::attached);
    expect_names_up_to(ReloadEnd::superseded);
}

TEST(Words, AreNamedAsTheyAreWritten) {
    EXPECT_EQ(name_of(Verdict::out_of_memory), "out_of_memory");
    EXPECT_EQ(name_of(EndReason::waited_too_long), "waited_too_long");
    EXPECT_EQ(name_of(LaneState::backoff), "backoff");
    EXPECT_EQ(name_of(Reason::crashed_too_often), "crashed_too_often");
}

TEST(Words, CallABadInputFinishedBecauseTheModelAnswered) {
    EXPECT_EQ(outcome_of(EndReason::answered), Outcome::finished);
    EXPECT_EQ(outcome_of(EndReason::bad_input), Outcome::finished);
}

TEST(Words, CallWhatWeOrTheModelCouldNotDoFailed) {
    for (const EndReason reason :
         {EndReason::model_failed, EndReason::non_finite, EndReason::out_of_memory,
          EndReason::worker_died, EndReason::poison, EndReason::known_poison,
          EndReason::stream_broken, EndReason::no_lane, EndReason::shortage,
          EndReason::shutting_down, EndReason::answer_lost})
        EXPECT_EQ(outcome_of(reason), Outcome::failed) << name_of(reason);
}

TEST(Words, TellTimeFromCancellationFromRefusal) {
    for (const EndReason reason :
         {EndReason::deadline_passed, EndReason::ran_too_long, EndReason::waited_too_long})
        EXPECT_EQ(outcome_of(reason), Outcome::timed_out) << name_of(reason);
    for (const EndReason reason : {EndReason::client_left, EndReason::cancel_asked,
                                   EndReason::client_too_slow, EndReason::answers_full})
        EXPECT_EQ(outcome_of(reason), Outcome::cancelled) << name_of(reason);
    for (const EndReason reason :
         {EndReason::lane_unknown, EndReason::queue_full, EndReason::bytes_full,
          EndReason::arrivals_full, EndReason::lane_queue_full, EndReason::client_limit,
          EndReason::crowded_out, EndReason::aside_full, EndReason::rate_exceeded})
        EXPECT_EQ(outcome_of(reason), Outcome::refused) << name_of(reason);
}

TEST(Words, PutNineFirstAndFiveInTheMiddle) {
    EXPECT_EQ(Priority{}.level, 5);
    EXPECT_GT(Priority{9}, Priority{});
    EXPECT_EQ(Priority::levels, 10);
}

}  // namespace
}  // namespace turnpike
