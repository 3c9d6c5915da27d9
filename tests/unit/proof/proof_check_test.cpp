#include "proof/proof_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace turnpike {
namespace {

const ProofConfig exact{.compare = Compare::exact};
const ProofConfig json{.compare = Compare::json};
const ProofConfig within_tenth{.compare = Compare::json, .tolerance_absolute = 0.1};
const ProofConfig within_percent{.compare = Compare::json, .tolerance_relative = 0.01};

TEST(ExactProof, TakesTheSameBytesOnly) {
    EXPECT_TRUE(is_same_answer(exact, "{\"a\":1}", "{\"a\":1}"));
    EXPECT_FALSE(is_same_answer(exact, "{\"a\":1}", "{\"a\": 1}"));
    EXPECT_TRUE(is_same_answer(exact, "", ""));
    EXPECT_TRUE(is_same_answer(exact, std::string("\0x", 2), std::string("\0x", 2)));
    EXPECT_FALSE(is_same_answer(exact, std::string("\0x", 2), std::string("\0y", 2)));
}

TEST(JsonProof, IgnoresBlanksAndTheOrderOfMembers) {
    EXPECT_TRUE(is_same_answer(json, R"({"a":1,"b":[true,null,"x"]})",
                               R"({ "b": [ true, null, "x" ], "a": 1 })"));
}

TEST(JsonProof, NoticesEveryOtherDifference) {
    const std::string right = R"({"a":1,"b":[true,null,"x"],"c":{"d":2}})";
    for (const std::string wrong : {
             R"({"a":2,"b":[true,null,"x"],"c":{"d":2}})",          // a number
             R"({"a":"1","b":[true,null,"x"],"c":{"d":2}})",        // a type
             R"({"a":1,"b":[true,null],"c":{"d":2}})",              // fewer
             R"({"a":1,"b":[true,null,"x","y"],"c":{"d":2}})",      // more
             R"({"a":1,"b":[null,true,"x"],"c":{"d":2}})",          // the order of elements
             R"({"a":1,"b":[false,null,"x"],"c":{"d":2}})",         // a boolean
             R"({"a":1,"b":[true,null,"X"],"c":{"d":2}})",          // a text
             R"({"a":1,"b":[true,null,"x"],"c":{"e":2}})",          // a name
             R"({"a":1,"b":[true,null,"x"],"c":{"d":2},"f":null})"  // a member more
         })
        EXPECT_FALSE(is_same_answer(within_tenth, right, wrong)) << wrong;
    EXPECT_TRUE(is_same_answer(within_tenth, right, right));
}

TEST(JsonProof, TakesAnIntegerForTheSameNumberWithAPoint) {
    EXPECT_TRUE(is_same_answer(json, "[1, 18446744073709551615]", "[1.0, 18446744073709551615]"));
    EXPECT_FALSE(is_same_answer(json, "1", "1.0000001"));
    EXPECT_TRUE(is_same_answer(json, "0", "-0.0"));
}

TEST(JsonProof, AllowsAnAbsoluteDifferenceUpToItsLimit) {
    EXPECT_TRUE(is_same_answer(within_tenth, "[5]", "[5.0625]"));
    EXPECT_TRUE(is_same_answer(within_tenth, "[5]", "[4.9375]"));
    EXPECT_FALSE(is_same_answer(within_tenth, "[5]", "[5.125]"));
    EXPECT_FALSE(is_same_answer(within_tenth, "[5]", "[4.875]"));
    EXPECT_TRUE(is_same_answer(within_tenth, "0", "0.1")) << "the limit itself";
}

TEST(JsonProof, AllowsARelativeDifferenceOfTheLargerNumber) {
    EXPECT_TRUE(is_same_answer(within_percent, "1000", "1009"));
    EXPECT_TRUE(is_same_answer(within_percent, "1009", "1000"));
    EXPECT_FALSE(is_same_answer(within_percent, "1000", "1011"));
    EXPECT_FALSE(is_same_answer(within_percent, "0", "0.001"));
    EXPECT_TRUE(is_same_answer(within_percent, "-1000", "-1009"));
    EXPECT_FALSE(is_same_answer(within_percent, "-1000", "1000"));
}

TEST(JsonProof, ComparesNumbersAtEveryDepth) {
    EXPECT_TRUE(is_same_answer(within_tenth, R"({"a":[{"b":[1.0]}]})", R"({"a":[{"b":[1.05]}]})"));
    EXPECT_FALSE(is_same_answer(within_tenth, R"({"a":[{"b":[1.0]}]})", R"({"a":[{"b":[1.5]}]})"));
}

TEST(JsonProof, AcceptsOnlyJson) {
    for (const std::string wrong : {"", "NaN", "[NaN]", "[Infinity]", "{\"a\":}", "[1", "[1]x",
                                    "{'a':1}", "\"\xff\"", "nul"}) {
        EXPECT_FALSE(is_same_answer(within_tenth, "[1]", wrong)) << wrong;
        EXPECT_FALSE(is_same_answer(within_tenth, wrong, wrong)) << wrong;
    }
}

TEST(JsonProof, ExpectsValidJson) {
    ProofConfig rule{.compare = Compare::json, .expected = "{\"a\":"};
    EXPECT_TRUE(objection_to(rule));
    rule.expected = "{\"a\":1}";
    EXPECT_FALSE(objection_to(rule));
    rule.expected = "";  // pools that prove by agreement expect nothing
    EXPECT_FALSE(objection_to(rule));
    rule.compare = Compare::exact;
    rule.expected = "{\"a\":";
    EXPECT_FALSE(objection_to(rule));
}

TEST(AnswerGroups, NumberDifferentAnswersAsTheyCome) {
    AnswerGroups groups;
    EXPECT_EQ(groups.group_of(within_tenth, "[1.0]"), 0U);
    EXPECT_EQ(groups.group_of(within_tenth, "[2.0]"), 1U);
    EXPECT_EQ(groups.group_of(within_tenth, "[1.05]"), 0U);
    EXPECT_EQ(groups.group_of(within_tenth, "[2.05]"), 1U);
    EXPECT_EQ(groups.group_of(within_tenth, "[3.0]"), 2U);
}

TEST(AnswerGroups, CompareWithTheFirstOfAGroupSoThatGroupsDoNotDrift) {
    AnswerGroups groups;
    EXPECT_EQ(groups.group_of(within_tenth, "1.0"), 0U);
    EXPECT_EQ(groups.group_of(within_tenth, "1.09"), 0U);
    EXPECT_EQ(groups.group_of(within_tenth, "1.18"), 1U);
}

TEST(AnswerGroups, TakeTheSameBytesForTheSameAnswerEvenIfTheyAreNoJson) {
    AnswerGroups groups;
    EXPECT_EQ(groups.group_of(json, "a picture"), 0U);
    EXPECT_EQ(groups.group_of(json, "another"), 1U);
    EXPECT_EQ(groups.group_of(json, "a picture"), 0U);
}

TEST(AnswerGroups, AreBounded) {
    AnswerGroups groups;
    for (std::uint32_t i = 0; i < 2 * AnswerGroups::groups_max; ++i)
        EXPECT_EQ(groups.group_of(exact, std::to_string(i)),
                  std::min<std::uint32_t>(i, AnswerGroups::groups_max));
    EXPECT_EQ(groups.group_of(exact, "7"), 7U);
}

TEST(JsonProof, TellsLargeIntegersApart) {
    EXPECT_FALSE(is_same_answer(json, "[9007199254740993]", "[9007199254740992]"));
    EXPECT_FALSE(is_same_answer(json, "[18446744073709551615]", "[18446744073709551614]"));
}

TEST(JsonProof, AcceptsNoNumberThatIsNotFinite) {
    EXPECT_FALSE(is_same_answer(json, "[1e400]", "[1e400]"));
    EXPECT_FALSE(is_same_answer(within_percent, "[1e400]", "[1.0]"));
}

TEST(JsonProof, TakesDeepJson) {
    const std::string deep = std::string(100, '[') + std::string(100, ']');
    EXPECT_TRUE(is_same_answer(json, deep, deep));
}

TEST(RecordedNumbers, MustBeExactlyTheSameWhereTheyAreWhole) {
    const ProofConfig recorded{.compare = Compare::json,
                               .tolerance_absolute = 0.1,
                               .tolerance_relative = 0.1,
                               .integers_exact = true};
    EXPECT_FALSE(is_same_answer(recorded, "[1000]", "[1001]"));
    EXPECT_TRUE(is_same_answer(recorded, "[1000.0]", "[1001.5]"));
    EXPECT_TRUE(is_same_answer(recorded, "[1]", "[1.0]"));
}

std::string text_of_difference(const ProofConfig& rule, std::string_view here,
                               std::string_view there) {
    return text_of(first_difference(rule, here, there));
}

TEST(Difference, IsAPathIntoTheJson) {
    EXPECT_EQ(text_of_difference(json, R"({"a":1,"scores":[0.5,0.12]})",
                                 R"({"a":1,"scores":[0.5,0.98]})"),
              ".scores[1]: 0.12 here, 0.98 expected");
    EXPECT_EQ(text_of_difference(json, R"({"a":{"b":[{"c":"x"}]}})", R"({"a":{"b":[{"c":"y"}]}})"),
              R"(.a.b[0].c: "x" here, "y" expected)");
    EXPECT_EQ(text_of_difference(json, R"({"a b":1})", R"({"a b":2})"),
              R"(["a b"]: 1 here, 2 expected)");
    EXPECT_EQ(text_of_difference(json, "3", "4"), "3 here, 4 expected");
}

TEST(Difference, NamesWhatIsMissingAndWhatIsTooMuch) {
    EXPECT_EQ(text_of_difference(json, R"({"a":1})", R"({"a":1,"b":2})"),
              ".b: nothing here, 2 expected");
    EXPECT_EQ(text_of_difference(json, R"({"a":1,"b":2})", R"({"a":1})"),
              ".b: 2 here, nothing expected");
    EXPECT_EQ(text_of_difference(json, R"({"a":[1,2]})", R"({"a":[1,2,3]})"),
              ".a: 2 elements here, 3 elements expected");
    EXPECT_EQ(text_of_difference(json, "[1]", R"({"a":1})"), R"([1] here, {"a":1} expected)");
}

TEST(Difference, PassesOverWhatIsNearEnough) {
    EXPECT_EQ(text_of_difference(within_tenth, "[1.01, 5]", "[1.0, 7]"), "[1]: 5 here, 7 expected");
}

TEST(Difference, OfTextIsAnOffsetAndWhatFollows) {
    EXPECT_EQ(text_of_difference(exact, "The cat sat", "The dog sat"),
              R"(byte 4: "cat sat" here, "dog sat" expected)");
    EXPECT_EQ(text_of_difference(exact, "The", "The dog"),
              R"(byte 3: the end here, " dog" expected)");
    EXPECT_EQ(text_of_difference(exact, "x\u00e9", "x\u00e8"),
              "byte 1: \"\u00e9\" here, \"\u00e8\" expected")
        << "never in the middle of a character";
}

TEST(Difference, OfBinaryIsAnOffsetAndBytes) {
    EXPECT_EQ(text_of_difference(exact, std::string("\xff\x00\x01", 3),
                                 std::string("\xff\x00\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 11)),
              "byte 2: bytes 01 here, bytes 02 03 04 05 06 07 08 09 … expected");
}

TEST(Difference, OfWhatIsNoJsonSaysSo) {
    EXPECT_EQ(text_of_difference(json, "oops", "[1]"),
              R"("oops", which is not JSON, here, [1] expected)");
}

TEST(Difference, IsShort) {
    const std::string huge(100000, 'x');
    for (const ProofConfig& rule : {exact, json})
        EXPECT_LT(text_of_difference(rule, '"' + huge + '"', "\"y" + huge + '"').size(), 300U);
}

TEST(AnswerGroups, NameTheOddLaneAndWhatTheOthersAnswer) {
    AnswerGroups groups;
    groups.add(json, 2, R"({"digit":1})");  // the lane that differs answers first
    EXPECT_FALSE(groups.has_majority() && groups.opinions(json)[0].oddity != "");
    for (const std::size_t lane : {0UL, 1UL, 3UL}) groups.add(json, lane, R"({"digit":7})");
    EXPECT_TRUE(groups.has_majority());
    const std::vector<Opinion> expected{
        {0, ""}, {1, ""}, {2, "answers .digit = 1; lanes 0, 1, 3 answer 7"}, {3, ""}};
    EXPECT_EQ(groups.opinions(json), expected);
}

TEST(AnswerGroups, HaveNoMajorityIfTheLanesAreSplitInHalf) {
    AnswerGroups groups;
    groups.add(json, 0, "[1]");
    groups.add(json, 1, "[2]");
    EXPECT_FALSE(groups.has_majority());
    EXPECT_EQ(groups.opinions(json)[1].oddity, "answers [0] = 2; lane 0 answers 1");
    groups.add(json, 1, "[1]");  // its answer has changed
    EXPECT_TRUE(groups.has_majority());
    EXPECT_EQ(groups.opinions(json)[1].oddity, "");
}

}  // namespace
}  // namespace turnpike
