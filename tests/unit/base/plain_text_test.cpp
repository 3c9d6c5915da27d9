#include "base/plain_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace turnpike {
namespace {

using namespace std::string_view_literals;

std::string plain(std::string_view text) {
    std::string out;
    append_plain(out, text);
    return out;
}

TEST(PlainText, IsLeftAsItIs) {
    EXPECT_EQ(plain(""), "");
    EXPECT_EQ(plain("a line\twith a tab ~"), "a line\twith a tab ~");
    EXPECT_EQ(plain("größe █▉ 字 🚀"), "größe █▉ 字 🚀");
}

TEST(PlainText, IsAppended) {
    std::string out = "lane 0: ";
    append_plain(out, "text");
    EXPECT_EQ(out, "lane 0: text");
}

TEST(PlainText, HasNoControlCharacters) {
    EXPECT_EQ(plain("a\0b\a\b\x0B\x0C\x7F\r\nc"sv), "abc");
    EXPECT_EQ(plain("a\xC2\x80\xC2\x9B\xC2\x9Fz"), "az") << "also not those beyond ASCII";
    EXPECT_EQ(plain("a\xC2\xA0z"), "a\xC2\xA0z") << "a blank is none";
}

TEST(PlainText, HasNoEscapeSequences) {
    EXPECT_EQ(plain("\x1b[1;31mred\x1b[0m plain"), "red plain");
    EXPECT_EQ(plain("\x1b[2J\x1b[?25l\x1b[10;20Hhere\x1b[K"), "here");
    EXPECT_EQ(plain("\x1b]0;a title\aafter"), "after");
    EXPECT_EQ(plain("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
    EXPECT_EQ(plain("\x1bP1;2q\x1b\\after"), "after");
    EXPECT_EQ(plain("\x1b(B\x1b=\x1b"
                    "7after"),
              "after");
}

TEST(PlainText, SurvivesEscapeSequencesThatEndTooEarly) {
    EXPECT_EQ(plain("text\x1b"), "text");
    EXPECT_EQ(plain("text\x1b["), "text");
    EXPECT_EQ(plain("text\x1b[12;"), "text");
    EXPECT_EQ(plain("text\x1b]0;title"), "text");
    EXPECT_EQ(plain("\x1b[31\x1b[32mgreen"), "green");
    EXPECT_EQ(plain("\x1b]0;title\x1b[32mgreen"), "green");
    EXPECT_EQ(plain("\x1b[1\xC3\xA4"), "\xC3\xA4");
    EXPECT_EQ(plain("\x1b\x1b\x1b[mx"), "x");
}

TEST(PlainText, IsAlwaysUtf8) {
    EXPECT_EQ(plain("a\xFFz"), "a\xEF\xBF\xBDz");
    EXPECT_EQ(plain("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "cut off";
    EXPECT_EQ(plain("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
    EXPECT_EQ(plain("\x80\xBF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace turnpike
