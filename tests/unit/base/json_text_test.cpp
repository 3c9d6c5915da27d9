#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace turnpike {
namespace {

using namespace std::string_view_literals;

std::string json(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(JsonText, PutsPlainTextInQuotes) {
    EXPECT_EQ(json(""), R"("")");
    EXPECT_EQ(json("POST /predict?x=1 ~"), R"("POST /predict?x=1 ~")");
}

TEST(JsonText, AppendsToWhatIsThere) {
    std::string out = "{\"id\":";
    append_json_string(out, "a");
    EXPECT_EQ(out, R"({"id":"a")");
}

TEST(JsonText, EscapesQuotesAndBackslashes) {
    EXPECT_EQ(json("say \"hi\" \\o/"), R"("say \"hi\" \\o/")");
}

TEST(JsonText, EscapesEveryControlCharacter) {
    EXPECT_EQ(json("\b\f\n\r\t"), R"("\b\f\n\r\t")");
    EXPECT_EQ(json("\0\x01\x1F"sv), R"("\u0000\u0001\u001f")");
    EXPECT_EQ(json("\x1B[2J\x7F"), R"("\u001b[2J\u007f")");
    for (char control = 0; control < 0x20; ++control)
        EXPECT_EQ(json({&control, 1})[1], '\\') << int{control};
}

TEST(JsonText, LetsWellFormedSequencesThrough) {
    for (const auto* text :
         {"é", "€", "𝄞", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
          "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(json(text), "\"" + std::string(text) + "\"");
}

TEST(JsonText, ReplacesEachByteThatIsNoUtf8) {
    const std::string bad = "\xEF\xBF\xBD";
    EXPECT_EQ(json("a\xFF"
                   "b"),
              "\"a" + bad + "b\"");
    EXPECT_EQ(json("\x80"), "\"" + bad + "\"") << "a continuation of nothing";
    EXPECT_EQ(json("\xC0\xAF"), "\"" + bad + bad + "\"") << "overlong in two bytes";
    EXPECT_EQ(json("\xE0\x9F\xBF"), "\"" + bad + bad + bad + "\"") << "overlong in three";
    EXPECT_EQ(json("\xF0\x8F\xBF\xBF"), "\"" + bad + bad + bad + bad + "\"") << "overlong in four";
    EXPECT_EQ(json("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"") << "a surrogate";
    EXPECT_EQ(json("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"") << "past U+10FFFF";
}

TEST(JsonText, ReplacesASequenceThatIsCutOff) {
    const std::string bad = "\xEF\xBF\xBD";
    EXPECT_EQ(json("\xC3"), "\"" + bad + "\"");
    EXPECT_EQ(json("\xE2\x82"), "\"" + bad + bad + "\"");
    EXPECT_EQ(json("\xF0\x9D\x84"), "\"" + bad + bad + bad + "\"");
    EXPECT_EQ(json("\xE2\x82\""), "\"" + bad + bad + "\\\"\"") << "the quote is still escaped";
}

}  // namespace
}  // namespace turnpike
