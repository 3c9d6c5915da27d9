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

TEST(Facts, SpellSpansInTheUnitThatFits) {
    const std::pair<double, std::string_view> spans[] = {{0, "0 s"},
                                                         {-1, "0 s"},
                                                         {0.0004, "0.4 ms"},
                                                         {0.0099, "9.9 ms"},
                                                         {0.0123, "12 ms"},
                                                         {0.9994, "999 ms"},
                                                         {0.9996, "1.0 s"},
                                                         {59.94, "59.9 s"},
                                                         {59.96, "1 min 0 s"},
                                                         {245, "4 min 5 s"},
                                                         {3599.6, "1 h 0 min"},
                                                         {7500, "2 h 5 min"},
                                                         {273600, "3 d 4 h"},
                                                         {1e300, "11574074074 d 1 h"}};
    for (const auto& [seconds, text] : spans) EXPECT_EQ(span_text(seconds), text);
}

}  // namespace
}  // namespace turnpike
