// Forwarded and X-Forwarded-For, read from their end.
#include "http/forwarded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns all hops of these fields, the nearest first. A hidden hop is "?".
std::vector<std::string> hops_in(const std::vector<Field>& fields, HopList list) {
    std::vector<std::string> found;
    Hops hops(fields, list);
    while (const auto hop = hops.next()) found.emplace_back(hop->empty() ? "?" : *hop);
    return found;
}

std::vector<std::string> forwarded(std::string_view value) {
    return hops_in({{"Forwarded", value}}, HopList::forwarded);
}

std::vector<std::string> x_forwarded_for(std::string_view value) {
    return hops_in({{"X-Forwarded-For", value}}, HopList::x_forwarded_for);
}

TEST(XForwardedFor, IsReadFromItsEnd) {
    EXPECT_THAT(x_forwarded_for("1.1.1.1, 2.2.2.2,3.3.3.3"),
                ElementsAre("3.3.3.3", "2.2.2.2", "1.1.1.1"));
    EXPECT_THAT(x_forwarded_for("2001:db8::1"), ElementsAre("2001:db8::1"));
}

TEST(XForwardedFor, MayHavePortsAndBrackets) {
    EXPECT_THAT(x_forwarded_for("1.1.1.1:80"), ElementsAre("1.1.1.1"));
    EXPECT_THAT(x_forwarded_for("[2001:db8::1]:443"), ElementsAre("2001:db8::1"));
    EXPECT_THAT(x_forwarded_for("[2001:db8::1]"), ElementsAre("2001:db8::1"));
    for (const std::string_view wrong :
         {"1.1.1.1:", "1.1.1.1:x", "1.1.1.1:123456", "1.1.1.1:_a", "[::1", "[::1]x", "[::1]80",
          "[1.1.1.1]", "[]", "[::1]:", ":80"})
        EXPECT_THAT(x_forwarded_for(wrong), ElementsAre("?")) << wrong;
}

TEST(XForwardedFor, SkipsEmptyElements) {
    EXPECT_THAT(x_forwarded_for(" ,, 1.1.1.1 ,,\t,"), ElementsAre("1.1.1.1"));
    EXPECT_THAT(x_forwarded_for(""), IsEmpty());
    EXPECT_THAT(x_forwarded_for(",,,"), IsEmpty());
}

TEST(Forwarded, IsReadFromItsEnd) {
    EXPECT_THAT(forwarded(R"(for=192.0.2.43, For="[2001:db8:cafe::17]:4711")"),
                ElementsAre("2001:db8:cafe::17", "192.0.2.43"));
    EXPECT_THAT(forwarded("for=192.0.2.60;proto=http;by=203.0.113.43"), ElementsAre("192.0.2.60"));
    EXPECT_THAT(forwarded(R"(by=1.1.1.1;host="a,b;for=9.9.9.9";FOR="192.0.2.1:80")"),
                ElementsAre("192.0.2.1"));
    EXPECT_THAT(forwarded(R"(host="a\"b, for=9.9.9.9, c", for=192.0.2.1)"),
                ElementsAre("192.0.2.1", "?"))
        << "a backslash may stand in a value that nobody reads";
}

TEST(Forwarded, MayHaveBlanksAroundSemicolons) {
    EXPECT_THAT(forwarded("proto=https ; for=192.0.2.1 ;"), ElementsAre("192.0.2.1"));
    EXPECT_THAT(forwarded(";;for=192.0.2.1;;"), ElementsAre("192.0.2.1"));
}

TEST(Forwarded, MayHideAHost) {
    EXPECT_THAT(forwarded(R"(for=unknown, for=_hidden, for="_x:_y")"),
                ElementsAre("_x", "_hidden", "unknown"))
        << "none is an address";
    EXPECT_THAT(forwarded("proto=https"), ElementsAre("?"));
    EXPECT_THAT(forwarded(R"(for="")"), ElementsAre("?"));
}

TEST(Forwarded, HidesWhatIsMalformed) {
    for (const std::string_view wrong :
         {"for", "for=", "for =1.1.1.1", "for= 1.1.1.1", "=1.1.1.1", "for=1.1.1.1 x", "for=[::1]",
          R"(for="::1")", R"(for="1.1.1.1)", R"(for=1.1.1.1")", R"(for="1.1.\1.1")",
          "for=1.1.1.1;for=2.2.2.2", R"(for="";for=2.2.2.2)", "1.1.1.1", "for=1.1.1.1;x", "for:1",
          R"(for="1.1.1.1"x)", R"(for="[::1]:x")", "for=\xff"})
        EXPECT_THAT(forwarded(wrong), ElementsAre("?")) << wrong;
}

TEST(Forwarded, IsNotHarmedByWhatTheClientPutBefore) {
    for (const std::string_view before :
         {R"(for=")", R"(for="\)", R"(for="a\"b)", R"(\")", R"(x;y;=)", R"(""")", "for=[", ";;;"}) {
        const std::string value = std::string(before) + ", for=192.0.2.1";
        const auto hops = forwarded(value);
        ASSERT_FALSE(hops.empty()) << value;
        EXPECT_EQ(hops.front(), "192.0.2.1") << value;
    }
}

TEST(Hops, GoOverAllFieldsOfTheirName) {
    const std::vector<Field> fields{{"X-Forwarded-For", "1.1.1.1"},
                                    {"Forwarded", "for=2.2.2.2"},
                                    {"x-forwarded-for", "3.3.3.3, 4.4.4.4"},
                                    {"X-Forwarded-Fo", "5.5.5.5"},
                                    {"X-FORWARDED-FOR", ""}};
    EXPECT_THAT(hops_in(fields, HopList::x_forwarded_for),
                ElementsAre("4.4.4.4", "3.3.3.3", "1.1.1.1"));
    EXPECT_THAT(hops_in(fields, HopList::forwarded), ElementsAre("2.2.2.2"));
    EXPECT_TRUE(has_hops(fields, HopList::forwarded));
    EXPECT_FALSE(has_hops(std::span(fields).first(1), HopList::forwarded));
}

TEST(Hops, MayBeThousands) {
    std::string value;
    for (int i = 0; i < 5000; ++i) value += "10.0.0.1, ";
    EXPECT_EQ(x_forwarded_for(value).size(), 5000U);
    EXPECT_THAT(x_forwarded_for(std::string(60'000, ',')), IsEmpty());
    EXPECT_THAT(forwarded(std::string(60'000, '"')), ElementsAre("?"));
    std::string escaped(60'000, '\\');
    escaped += '"';
    EXPECT_THAT(forwarded(escaped), ElementsAre("?"));
}

TEST(IsForwarded, IsAnyFieldOfAProxy) {
    for (const std::string_view name : {"Forwarded", "x-forwarded-for", "X-Real-IP", "VIA"}) {
        const std::vector<Field> fields{{"Accept", "*/*"}, {name, ""}};
        EXPECT_TRUE(is_forwarded(fields)) << name;
        EXPECT_FALSE(is_forwarded(std::span(fields).first(1)));
    }
}

}  // namespace
}  // namespace turnpike::http
