// What a failed proof becomes in the facts of its lane: for everybody, and for admins.
#include "proof/proof_result.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike {
namespace {

constexpr WorkerId worker{1};

std::vector<LaneFacts> lanes_after(const Judgement& judgement) {
    std::vector<LaneFacts> lanes(1);
    lanes[0].now.id = worker;
    show_proof(lanes, {.lane = LaneId{0}, .worker = worker, .name = "the proof"}, {}, judgement);
    return lanes;
}

TEST(ProofResult, KeepsTheDifferenceOfAWrongAnswerForAdmins) {
    const auto lanes =
        lanes_after({.verdict = ProofVerdict::failed, .trouble = ".digit: 3 here, 7 expected"});
    EXPECT_EQ(lanes[0].now.trouble, (LaneTrouble{.cause = LaneCause::wrong_answer,
                                                 .told = "wrong answer to the proof",
                                                 .said = ".digit: 3 here, 7 expected"}));
    EXPECT_EQ(lanes[0].now.proof.trouble, "wrong answer to the proof: .digit: 3 here, 7 expected");
    EXPECT_FALSE(lanes[0].now.proof.is_passed);
}

TEST(ProofResult, KeepsTheModelsMessageForAdmins) {
    const auto lanes = lanes_after(failed_proof(ProofBy::check, "failed", "ValueError: x"));
    EXPECT_EQ(lanes[0].now.trouble, (LaneTrouble{.cause = LaneCause::proof_failed,
                                                 .told = "the proof failed",
                                                 .said = "ValueError: x"}));
    EXPECT_EQ(lanes[0].now.proof.trouble, "the proof failed: ValueError: x");
}

TEST(ProofResult, TellsEverybodyTheStatusOfAnAnswer) {
    const auto lanes = lanes_after(failed_proof(ProofBy::pool, "was answered with status 500"));
    EXPECT_EQ(lanes[0].now.trouble,
              (LaneTrouble{.cause = LaneCause::proof_failed,
                           .told = "the proof was answered with status 500"}));
}

TEST(ProofResult, KeepsWhatTheOtherLanesAnswerForAdmins) {
    std::vector<LaneFacts> lanes(2);
    lanes[0].now.id = worker;
    lanes[1].now.proof = {.by = ProofBy::agreement, .is_passed = true, .generation = {1}};
    const std::string oddity = "answers 1; lane 0 answers 7";
    show_proof(lanes, {.lane = LaneId{0}, .worker = worker, .name = "the proof"},
               {.generation = {1}},
               {.verdict = ProofVerdict::grouped,
                .by = ProofBy::agreement,
                .opinions = {{.lane = 1, .oddity = oddity}},
                .has_majority = true});
    EXPECT_EQ(lanes[1].now.trouble, (LaneTrouble{.cause = LaneCause::disagrees,
                                                 .told = "its answer differs from the majority's",
                                                 .said = "it " + oddity}));
    EXPECT_EQ(lanes[1].now.proof.trouble, "it " + oddity);
    EXPECT_TRUE(lanes[0].now.trouble.is_none());
}

TEST(ProofResult, LeavesTheTroubleAloneIfItPassed) {
    EXPECT_TRUE(lanes_after({})[0].now.trouble.is_none());
}

}  // namespace
}  // namespace turnpike
