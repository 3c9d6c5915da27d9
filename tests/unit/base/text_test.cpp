#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace turnpike {
namespace {

static_assert(std::is_trivially_copyable_v<Text<24>>);
static_assert(sizeof(Text<24>) == 25);

TEST(Text, StartsEmpty) {
    const Text<8> text;
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.view(), "");
}

TEST(Text, HoldsWhatFits) {
    EXPECT_EQ(Text<4>{"POST"}.view(), "POST");
    EXPECT_FALSE(Text<4>{"POST"}.empty());
}

TEST(Text, CutsWhatIsTooLong) {
    EXPECT_EQ(Text<4>{"DELETE"}.view(), "DELE");
    EXPECT_EQ(Text<255>{std::string(300, 'x')}.view(), std::string(255, 'x'));
}

TEST(Text, NeverCutsACharacterInTwo) {
    EXPECT_EQ(Text<4>{"abcé"}.view(), "abc");
    EXPECT_EQ(Text<5>{"abcé"}.view(), "abcé");
    EXPECT_EQ(Text<4>{"a𝄞"}.view(), "a") << "four bytes, three of which would fit";
    EXPECT_EQ(Text<5>{"a𝄞b"}.view(), "a𝄞");
    EXPECT_EQ(Text<3>{"é€"}.view(), "é");
}

TEST(Text, KeepsNothingOfACharacterThatDoesNotFitAtAll) { EXPECT_EQ(Text<2>{"€"}.view(), ""); }

TEST(Text, CutsBytesThatAreNoUtf8AtTheEnd) {
    EXPECT_EQ(Text<6>{std::string(9, '\x80')}.view(), std::string(6, '\x80'));
    EXPECT_EQ(Text<2>{std::string(9, '\x80')}.view(), std::string(2, '\x80'));
}

TEST(Text, ForgetsALongerTextThatItHeldBefore) {
    Text<8> text{"longer"};
    text.assign("ab");
    EXPECT_EQ(text.view(), "ab");
    EXPECT_EQ(text, Text<8>{"ab"});
    EXPECT_NE(text, Text<8>{"longer"});
}

}  // namespace
}  // namespace turnpike
