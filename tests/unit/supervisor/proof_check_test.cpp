#include "supervisor/proof_check.h"

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

TEST(JsonProof, DoesNotMindBlanksAndTheOrderOfMembers) {
    EXPECT_TRUE(is_same_answer(json, R"({"a":1,"b":[true,null,"x"]})",
                               R"({ "b": [ true, null, "x" ], "a": 1 })"));
}

TEST(JsonProof, MindsEverythingElse) {
    const std::string right = R"({"a":1,"b":[true,null,"x"],"c":{"d":2}})";
    for (const std::string wrong : {
             R"({"a":2,"b":[true,null,"x"],"c":{"d":2}})",          // a number
             R"({"a":"1","b":[true,null,"x"],"c":{"d":2}})",        // a kind
             R"({"a":1,"b":[true,null],"c":{"d":2}})",              // fewer
             R"({"a":1,"b":[true,null,"x","y"],"c":{"d":2}})",      // more
             R"({"a":1,"b":[null,true,"x"],"c":{"d":2}})",          // the order of elements
             R"({"a":1,"b":[false,null,"x"],"c":{"d":2}})",         // a truth
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

TEST(JsonProof, TakesNothingThatIsNoJson) {
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
    rule.expected = "";  // pools that agree expect nothing
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

TEST(JsonProof, TakesNoNumberThatIsNotFinite) {
    EXPECT_FALSE(is_same_answer(json, "[1e400]", "[1e400]"));
    EXPECT_FALSE(is_same_answer(within_percent, "[1e400]", "[1.0]"));
}

TEST(JsonProof, TakesDeepJson) {
    const std::string deep = std::string(100, '[') + std::string(100, ']');
    EXPECT_TRUE(is_same_answer(json, deep, deep));
}

}  // namespace
}  // namespace turnpike
