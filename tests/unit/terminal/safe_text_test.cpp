#include "terminal/safe_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(ShownText, KeepsWhatPeopleRead) {
    for (const char* text : {"", "plain ~", "caf\u00e9 \u2588\u258f 40 %", "\u6f22\u5b57",
                             "\U0001F600", "\u0446\u0432\u0435\u0442 \u05d0 \u0627"})
        EXPECT_EQ(sanitized(text), text);
}

TEST(ShownText, MarksWhatATerminalCouldObey) {
    EXPECT_EQ(sanitized("a\x1b[31m\r\n\t\x7f"), "a?[31m????");
    EXPECT_EQ(sanitized("\u009b31m \u0085"), "?31m ?") << "some terminals take these for escapes";
    EXPECT_EQ(sanitized("\u202egpj.exe\u202c \u2066\u2069 \u200f\u061c"), "?gpj.exe? ?? ??");
    EXPECT_EQ(sanitized("\u200b\u2028\ufeff\U000E0041"), "????");
}

TEST(ShownText, MarksEachByteThatIsNoCharacter) {
    EXPECT_EQ(sanitized("a\xff\xe2\x96z"), "a???z") << "cut off, then plain again";
    EXPECT_EQ(sanitized("\xc0\xaf\xed\xa0\x80"), "?????") << "overlong, and a surrogate";
    EXPECT_EQ(sanitized("\xe2\x96"), "??");
}

TEST(ShownText, CountsColumns) {
    EXPECT_EQ(columns_of(""), 0U);
    EXPECT_EQ(columns_of("caf\u00e9 \u2588"), 6U);
    EXPECT_EQ(columns_of("\u6f22a\U0001F600"), 5U);
    EXPECT_EQ(padded("\u00e9\u6f22", 5), "\u00e9\u6f22  ");
    EXPECT_EQ(padded("abc", 2), "abc");
}

TEST(ShownText, IsCutBetweenCharacters) {
    EXPECT_EQ(first_columns("\u00e9\u00e9\u00e9", 2), "\u00e9\u00e9");
    EXPECT_EQ(first_columns("a\u6f22", 2), "a");
    EXPECT_EQ(first_columns("abc", 0), "");
    EXPECT_EQ(shortened("abcdef", 6), "abcdef");
    EXPECT_EQ(shortened("abcdefg", 6), "abc...");
    EXPECT_EQ(shortened("\u00e9\u00e9\u00e9\u00e9\u00e9", 4), "\u00e9...");
    EXPECT_EQ(shortened("abcdef", 2), "ab");
}

TEST(Ranges, AreShort) {
    EXPECT_EQ(ranges_text({}), "");
    EXPECT_EQ(ranges_text({3}), "3");
    EXPECT_EQ(ranges_text({0, 1}), "0-1");
    EXPECT_EQ(ranges_text({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
}

}  // namespace
}  // namespace turnpike
