#include "terminal/facts.h"

#include <gtest/gtest.h>

#include <string_view>

namespace turnpike {
namespace {

TEST(Facts, AreReadAsText) {
    const auto facts = parse_facts(R"({"a":"x","n":3,"t":true,"f":false,"z":null})").value();
    EXPECT_EQ(text_of(facts, "a"), "x");
    EXPECT_EQ(text_of(facts, "n"), "3");
    EXPECT_EQ(text_of(facts, "t"), "yes");
    EXPECT_EQ(text_of(facts, "f"), "no");
    EXPECT_EQ(text_of(facts, "z"), "");
    EXPECT_EQ(text_of(facts, "missing"), "");
}

TEST(Facts, OfAnotherKindReadAsMissing) {
    const auto facts = parse_facts(R"({"list":3,"object":[],"span":"x","true":"true"})").value();
    EXPECT_TRUE(list_of(facts, "list").empty());
    EXPECT_TRUE(object_of(facts, "object").empty());
    EXPECT_EQ(span_of(facts, "span"), "");
    EXPECT_FALSE(is_true(facts, "true"));
}

TEST(Facts, AreRefusedIfTheyAreNoJsonObject) {
    for (const std::string_view text : {"", "[]", "{", "<html>", "{} x"})
        EXPECT_FALSE(parse_facts(text).has_value()) << text;
}

TEST(Facts, HaveNothingThatATerminalObeys) {
    EXPECT_EQ(text_of(parse_facts(R"({"a":"\u001b]0;"})").value(), "a"), "?]0;");
    EXPECT_EQ(text_of(parse_facts(R"({"a":["\u009b"]})").value(), "a"), "[\"?\"]");
}

TEST(Facts, KnowSecondsFromMilliseconds) {
    const auto facts = parse_facts(R"({"wait_s":2,"queue_ms":2})").value();
    EXPECT_EQ(span_of(facts, "wait_s"), "2.0 s");
    EXPECT_EQ(span_of(facts, "queue_ms"), "2.0 ms");
}

}  // namespace
}  // namespace turnpike
