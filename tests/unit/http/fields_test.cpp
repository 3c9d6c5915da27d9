// Field lines: their form, their bytes and their line ends.
#include "http/fields.h"

#include <gtest/gtest.h>

#include "http/request_parser.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string bad_field = "fault bad_field";
const std::string bad_line_end = "fault bad_line_end";

TEST(FieldLine, IsANameAColonAndAValue) {
    expect_requests({
        {"usual", with_field("Accept: */*"), "GET / keep"},
        {"no space", with_field("A:b"), "GET / keep"},
        {"empty value", with_field("A:"), "GET / keep"},
        {"blank value", with_field("A: \t "), "GET / keep"},
        {"tab", with_field("A:\tb\t"), "GET / keep"},
        {"tab within", with_field("A: b\tc"), "GET / keep"},
        {"colons", with_field("A: b: c:d"), "GET / keep"},
        {"colon first", with_field("A::b"), "GET / keep"},
        {"all of a token", with_field("!#$%&'*+-.^_`|~09azAZ: x"), "GET / keep"},
        {"quoted", with_field("A: \"b,\\\"c\""), "GET / keep"},
        {"utf-8 value", with_field("A: \xe2\x82\xac"), "GET / keep"},
        {"latin value", with_field("A: \x80\xff"), "GET / keep"},
        {"repeated", with_field("A: b\r\nA: c"), "GET / keep"},
        {"one letter", with_field("a: b"), "GET / keep"},
        {"comment", with_field("User-Agent: a (b; c)"), "GET / keep"},
        {"underscore", with_field("X_Y: b"), "GET / keep"},
        {"digits", with_field("1: 2"), "GET / keep"},
    });
}

TEST(FieldLine, IsRefusedWhenItsNameIsNoToken) {
    expect_requests({
        {"no name", with_field(": b"), bad_field},
        {"only a colon", with_field(":"), bad_field},
        {"no colon", with_field("Accept"), bad_field},
        {"no colon, two words", with_field("Accept all"), bad_field},
        {"space before the colon", with_field("A : b"), bad_field},
        {"tab before the colon", with_field("A\t: b"), bad_field},
        {"length with space before the colon", with_field("Content-Length : 5"), bad_field},
        {"coding with space before the colon", with_field("Transfer-Encoding : chunked"),
         bad_field},
        {"coding with tab before the colon", with_field("Transfer-Encoding\t:chunked"), bad_field},
        {"space within", with_field("A B: c"), bad_field},
        {"slash", with_field("A/B: c"), bad_field},
        {"at", with_field("A@B: c"), bad_field},
        {"comma", with_field("A,B: c"), bad_field},
        {"semicolon", with_field("A;B: c"), bad_field},
        {"equals", with_field("A=B: c"), bad_field},
        {"brackets", with_field("A[B]: c"), bad_field},
        {"braces", with_field("A{B}: c"), bad_field},
        {"parentheses", with_field("A(B): c"), bad_field},
        {"angles", with_field("A<B>: c"), bad_field},
        {"quotes", with_field("\"A\": c"), bad_field},
        {"backslash", with_field("A\\B: c"), bad_field},
        {"question mark", with_field("A?: c"), bad_field},
        {"nul", with_field("A\0B: c"s), bad_field},
        {"nul before the colon", with_field("Content-Length\0: 5"s), bad_field},
        {"control", with_field("A\x01: c"), bad_field},
        {"delete", with_field("A\x7f: c"), bad_field},
        {"utf-8", with_field("\xc3\xa9: c"), bad_field},
        {"no-break space", with_field("Content-Length\xa0: 5"), bad_field},
        {"form feed", with_field("\fTransfer-Encoding: chunked"), bad_field},
        {"vertical tab", with_field("\vTransfer-Encoding: chunked"), bad_field},
    });
}

TEST(FieldLine, IsNeverContinued) {
    expect_requests({
        {"space", with_field("A: b\r\n c"), bad_field},
        {"tab", with_field("A: b\r\n\tc"), bad_field},
        {"only a space", with_field("A: b\r\n "), bad_field},
        {"a field", with_field("A: b\r\n Content-Length: 5"), bad_field},
        {"a length", with_field("Content-Length: 1\r\n 5"), bad_field},
        {"a coding", with_field("Transfer-Encoding: chunked\r\n , gzip"), bad_field},
        {"an empty length", with_field("Content-Length:\r\n 5"), "fault bad_length"},
        {"an empty coding", with_field("Transfer-Encoding:\r\n chunked"), "fault bad_coding"},
        {"the first line", "GET / HTTP/1.1\r\n Host: a\r\n", bad_field},
        {"the first line, tab", "GET / HTTP/1.1\r\n\tHost: a\r\n", bad_field},
        {"blank first line", "GET / HTTP/1.1\r\n \r\nHost: a\r\n", bad_field},
    });
}

TEST(FieldLine, HasNoControlBytesInItsValue) {
    expect_requests({
        {"nul", with_field("A: b\0c"s), bad_field},
        {"only nul", with_field("A: \0"s), bad_field},
        {"nul at the end", with_field("A: b\0"s), bad_field},
        {"bell", with_field("A: \a"), bad_field},
        {"backspace", with_field("A: \b"), bad_field},
        {"vertical tab", with_field("A: b\vc"), bad_field},
        {"form feed", with_field("A: \f"), bad_field},
        {"escape", with_field("A: \x1b[0m"), bad_field},
        {"unit separator", with_field("A: \x1f"), bad_field},
        {"delete", with_field("A: \x7f"), bad_field},
        {"delete far in",
         with_field("A: 12345678901234567890\x7f"
                    "1234567890"),
         bad_field},
        {"nul far in", with_field("A: 1234567890123456\0\x31\x32"s), bad_field},
        {"control after tab", with_field("A: 12345\t67890123456789\x01"), bad_field},
    });
}

TEST(FieldLine, EndsWithCrlf) {
    expect_requests({
        {"lf", "GET / HTTP/1.1\r\nHost: a\n", bad_line_end},
        {"lf only at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", bad_line_end},
        {"lf after the field too", "GET / HTTP/1.1\r\nHost: a\n\n", bad_line_end},
        {"cr within the value", with_field("A: b\rc"), bad_line_end},
        {"cr within the name", with_field("A\rB: c"), bad_line_end},
        {"cr twice", with_field("A: b\r"), bad_line_end},
        {"cr alone", with_field("\r"), bad_line_end},
        {"cr hides a field", with_field("A: b\rContent-Length: 5"), bad_line_end},
        {"lf hides a field", with_field("A: b\nContent-Length: 5"), bad_line_end},
        {"lf before cr", with_field("A: b\n\r"), bad_line_end},
        {"cr cr lf ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", bad_line_end},
        {"cr within the space", with_field("A: \r b"), bad_line_end},
        {"cr before the value", with_field("A:\rb"), bad_line_end},
        {"no end", "GET / HTTP/1.1\r\nHost: a\r\n", "partial"},
        {"half an end", "GET / HTTP/1.1\r\nHost: a\r\n\r", "partial"},
    });
}

TEST(FieldLine, TakesEveryByteThatIsAllowedAndNoOther) {
    const std::string token =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~";
    Rows rows;
    for (int c = 0; c < 256; ++c) {
        if (c == '\r' || c == '\n') continue;
        const std::string byte(1, static_cast<char>(c));
        const std::string word = "byte " + std::to_string(c);
        const bool in_value = c == '\t' || (c >= ' ' && c != 0x7f);
        const bool in_name = c != 0 && (token.find(byte) != std::string::npos || c == ':');
        rows.push_back(
            {word, with_field("A: b" + byte + "c"), in_value ? "GET / keep" : bad_field});
        rows.push_back({word + " in a long value", with_field("A: 12345678" + byte + "12345678"),
                        in_value ? "GET / keep" : bad_field});
        rows.push_back({word, with_field("A" + byte + "B: c"), in_name ? "GET / keep" : bad_field});
    }
    expect_requests(rows);
}

TEST(FieldLine, IsSeenWithoutTheSpaceAroundItsValue) {
    const std::string raw = with_field("A: \t b \t c\t \r\nE:\r\nF::");
    RequestParser parser({});
    ASSERT_EQ(parser.parse(raw), Progress::done);
    const Fields fields = parser.head().fields;
    ASSERT_EQ(fields.size(), 4U);
    EXPECT_EQ(fields[0].name, "Host");
    EXPECT_EQ(fields[0].value, "a");
    EXPECT_EQ(fields[1].value, "b \t c");
    EXPECT_EQ(fields[2].value, "");
    EXPECT_EQ(fields[3].value, ":");
}

TEST(Fields, AreFoundByNameInAnyCase) {
    const std::vector<Field> fields{{"Accept", "1"}, {"ACCEPT", "2"}, {"x-Y", "3"}};
    ASSERT_NE(find(fields, "accept"), nullptr);
    EXPECT_EQ(find(fields, "accept")->value, "1");
    EXPECT_EQ(find(fields, "X-y")->value, "3");
    EXPECT_EQ(find(fields, "X"), nullptr);
    EXPECT_EQ(find({}, "X"), nullptr);
    EXPECT_EQ(only(fields, "X-Y"), "3");
    EXPECT_EQ(only(fields, "Accept"), std::nullopt) << "there are two";
    EXPECT_EQ(only(fields, "Host"), std::nullopt);
}

TEST(Fields, HaveNamesThatDifferInMoreThanCase) {
    EXPECT_TRUE(is_named("", ""));
    EXPECT_TRUE(is_named("HoSt", "hOsT"));
    EXPECT_FALSE(is_named("host", "hosts"));
    EXPECT_FALSE(is_named("a-b", "a\rb"));
    EXPECT_FALSE(is_named("@", "`")) << "only letters have two sizes";
    EXPECT_FALSE(is_named("[", "{"));
    EXPECT_FALSE(is_named("\xc0", "\xe0"));
}

TEST(Fields, HaveLongNamesThatAreComparedLikeShortOnes) {
    constexpr std::string_view upper = "CONTENT-TYPE-OF-IT";
    constexpr std::string_view lower = "content-type-of-it";
    for (std::size_t size = 0; size <= upper.size(); ++size) {
        EXPECT_TRUE(is_named(upper.substr(0, size), lower.substr(0, size)));
        for (std::size_t at = 0; at < size; ++at) {
            std::string other(lower.substr(0, size));
            other[at] = '_';
            EXPECT_FALSE(is_named(upper.substr(0, size), other)) << size << ", " << at;
        }
    }
}

TEST(Fields, HaveNamesOfAnyBytesWhereOnlyLettersHaveCase) {
    const auto lowered = [](int byte) { return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte; };
    for (int a = 0; a < 256; ++a)
        for (int b = 0; b < 256; ++b) {
            const std::string one = "seven, " + std::string(1, static_cast<char>(a)) + "Z";
            const std::string two = "SEVEN, " + std::string(1, static_cast<char>(b)) + "z";
            ASSERT_EQ(is_named(one, two), lowered(a) == lowered(b)) << a << ", " << b;
        }
}

TEST(Fields, OfThisConnectionAreNotPassedOn) {
    const std::vector<Field> fields{{"Connection", "close, X-Mine ,,\tx-other"},
                                    {"connection", "X-Third"}};
    for (const std::string_view name :
         {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
          "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
          "Expect", "x-mine", "X-OTHER", "x-third"})
        EXPECT_TRUE(is_hop_by_hop({name, "x"}, fields)) << name;
    for (const std::string_view name :
         {"Host", "Accept", "X-Min", "X-Mine2", "Content-Type", "TEA", "Authorization"})
        EXPECT_FALSE(is_hop_by_hop({name, "x"}, fields)) << name;
    EXPECT_FALSE(is_hop_by_hop({"X-Mine", "x"}, {}));
}

}  // namespace
}  // namespace turnpike::http::test
