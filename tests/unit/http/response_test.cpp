// Responses of workers: status lines, fields and how their bodies end.
#include <gtest/gtest.h>

#include "http/response_parser.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string bad_status_line = "fault bad_status_line";

std::string status_line(std::string_view line) {
    return std::string(line).append("\r\nContent-Length: 0\r\n\r\n");
}
std::string ok(std::string_view lines, std::string_view body = "") {
    return "HTTP/1.1 200 OK\r\n"s.append(lines).append("\r\n").append(body);
}

TEST(StatusLine, HasAVersionAStatusAndPerhapsAPhrase) {
    const std::string taken = " keep \"\"";
    expect_responses({
        {"usual", status_line("HTTP/1.1 200 OK"), "200" + taken},
        {"no phrase", status_line("HTTP/1.1 200 "), "200" + taken},
        {"no phrase and no space", status_line("HTTP/1.1 200"), "200" + taken},
        {"two words", status_line("HTTP/1.1 404 Not Found"), "404" + taken},
        {"any words", status_line("HTTP/1.1 500 a\tb  c: \"d\""), "500" + taken},
        {"high bytes", status_line("HTTP/1.1 200 \xe2\x82\xac"), "200" + taken},
        {"another space", status_line("HTTP/1.1 200  OK"), "200" + taken},
        {"the last", status_line("HTTP/1.1 599 x"), "599" + taken},
        {"unknown", status_line("HTTP/1.1 299 x"), "299" + taken},
        {"http/1.0", status_line("HTTP/1.0 200 OK"), "200 close \"\""},
    });
}

TEST(StatusLine, IsRefusedWhenMalformed) {
    Rows rows;
    for (const std::string& line : {"HTTP/1.1"s,           "HTTP/1.1 "s,
                                    "HTTP/1.1 20"s,        "HTTP/1.1 2"s,
                                    "HTTP/1.1 2000"s,      "HTTP/1.1 2000 OK"s,
                                    "HTTP/1.1 20 OK"s,     "HTTP/1.1 099 x"s,
                                    "HTTP/1.1 000 x"s,     "HTTP/1.1 600 x"s,
                                    "HTTP/1.1 999 x"s,     "HTTP/1.1 -20 x"s,
                                    "HTTP/1.1 +20 x"s,     "HTTP/1.1 2x0 OK"s,
                                    "HTTP/1.1 0x1 OK"s,    "HTTP/1.1 OK"s,
                                    "HTTP/1.1 200OK"s,     "HTTP/1.1 200\tOK"s,
                                    "HTTP/1.1  200 OK"s,   "HTTP/1.1\t200 OK"s,
                                    "HTTP/1.1200 OK"s,     "HTTP/1.1_200 OK"s,
                                    "http/1.1 200 OK"s,    "HTTP/1 200 OK"s,
                                    "HTTP/1.10 200 OK"s,   "HTTP/11 200 OK"s,
                                    "HTTP/1.1 200 \0"s,    "HTTP/1.1 200 \x01"s,
                                    "HTTP/1.1 200 a\x7f"s, "HTTP 200 OK"s,
                                    "HTTP/1.x 200 OK"s,    "HTTP/ 1.1 200 OK"s,
                                    "HTTPS/1.1 200 OK"s,   "H"s,
                                    "HTTP/1.1 2 0 OK"s})
        rows.push_back({line, status_line(line), bad_status_line});
    expect_responses(rows);
}

TEST(StatusLine, IsRefusedAtOnceWhenItBeginsOtherwise) {
    expect_responses({
        {"icecast", "ICY 200 OK", bad_status_line},
        {"space", " HTTP/1.1", bad_status_line},
        {"crlf", "\r\nHTTP/1.1 200 OK\r\n", bad_status_line},
        {"lf", "\n", bad_status_line},
        {"html", "<html>", bad_status_line},
        {"tls alert", "\x15\x03", bad_status_line},
        {"nul", "\0"s, bad_status_line},
        {"a traceback", "Traceback (most recent call last)", bad_status_line},
    });
}

TEST(StatusLine, KnowsTwoVersionsAndCrlf) {
    expect_responses({
        {"2.0", status_line("HTTP/2.0 200 OK"), "fault bad_version"},
        {"1.2", status_line("HTTP/1.2 200 OK"), "fault bad_version"},
        {"0.9", status_line("HTTP/0.9 200 OK"), "fault bad_version"},
        {"lf", "HTTP/1.1 200 OK\n", "fault bad_line_end"},
        {"cr", "HTTP/1.1 200 OK\rA: b\r\n", "fault bad_line_end"},
        {"cr twice", "HTTP/1.1 200 OK\r\r\n", "fault bad_line_end"},
        {"cr in the version", "HTTP\r/1.1 200 OK\r\n", "fault bad_line_end"},
        {"cut short", "HTTP/1.1 200 OK\r", "partial"},
        {"nothing", "", ""},
    });
}

TEST(ResponseFields, AreAsStrictAsThoseOfRequests) {
    expect_responses({
        {"space before the colon", ok("A : b\r\n"), "fault bad_field"},
        {"no name", ok(": b\r\n"), "fault bad_field"},
        {"no colon", ok("A\r\n"), "fault bad_field"},
        {"folded", ok("A: b\r\n c\r\n"), "fault bad_field"},
        {"nul", ok("A: \0\r\n"s), "fault bad_field"},
        {"control", ok("A: \x02\r\n"), "fault bad_field"},
        {"lf", ok("A: b\nB: c\r\n"), "fault bad_line_end"},
        {"cr", ok("A: b\rc\r\n"), "fault bad_line_end"},
        {"lf at the end", "HTTP/1.1 200 OK\r\nA: b\r\n\n", "fault bad_line_end"},
        {"bad connection", ok("Connection: a b\r\n"), "fault bad_connection"},
        {"host means nothing", ok("Host: a b\r\nContent-Length: 0\r\n"), "200 keep \"\""},
        {"expect means nothing", ok("Expect: x\r\nContent-Length: 0\r\n"), "200 keep \"\""},
        {"upgrade is only an offer", ok("Upgrade: h2\r\nContent-Length: 0\r\n"), "200 keep \"\""},
    });
}

TEST(ResponseBody, EndsByLengthByChunksOrByTheConnection) {
    const std::string te = "Transfer-Encoding: chunked\r\n";
    expect_responses({
        {"length", ok("Content-Length: 5\r\n", "hello"), "200 keep \"hello\""},
        {"zero", ok("Content-Length: 0\r\n"), "200 keep \"\""},
        {"chunked", ok(te, "5\r\nhello\r\n0\r\n\r\n"), "200 keep \"hello\""},
        {"chunked with trailers", ok(te, "0\r\nX: y\r\n\r\n"), "200 keep \"\""},
        {"the connection", ok("", "hello"), "200 close \"hello\""},
        {"the connection, at once", ok(""), "200 close \"\""},
        {"the connection, though it says keep-alive", ok("Connection: keep-alive\r\n", "a"),
         "200 close \"a\""},
        {"of an error", "HTTP/1.1 500 x\r\n\r\noops", "500 close \"oops\""},
        {"of http/1.0", "HTTP/1.0 200 OK\r\n\r\nhello", "200 close \"hello\""},
        {"length in http/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
         "200 close \"hi\""},
        {"kept http/1.0",
         "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
         "200 keep \"hi\""},
        {"length and close", ok("Connection: close\r\nContent-Length: 2\r\n", "hi"),
         "200 close \"hi\""},
        {"205 as it says", "HTTP/1.1 205 x\r\nContent-Length: 0\r\n\r\n", "205 keep \"\""},
    });
}

TEST(ResponseBody, IsTruncatedWhenTheConnectionEndsBefore) {
    const std::string te = "Transfer-Encoding: chunked\r\n";
    expect_responses({
        {"length", ok("Content-Length: 5\r\n", "hell"), "200 keep \"hell\" fault truncated"},
        {"no byte of it", ok("Content-Length: 5\r\n"), "200 keep \"\" fault truncated"},
        {"no last chunk", ok(te, "5\r\nhello\r\n"), "200 keep \"hello\" fault truncated"},
        {"no end of trailers", ok(te, "0\r\n"), "200 keep \"\" fault truncated"},
        {"within data", ok(te, "5\r\nhe"), "200 keep \"he\" fault truncated"},
        {"bad chunk", ok(te, "5\r\nhello!"), "200 keep \"hello\" fault bad_chunk"},
        {"bad size", ok(te, "-1\r\n"), "200 keep \"\" fault bad_chunk"},
        {"bad trailer", ok(te, "0\r\nContent-Length: 3\r\n"), "200 keep \"\" fault bad_trailer"},
    });
}

TEST(ResponseBody, HasOneFramingOnly) {
    const std::string te = "Transfer-Encoding: chunked\r\n";
    const std::string cl = "Content-Length: 5\r\n";
    expect_responses({
        {"both", ok(cl + te), "fault two_framings"},
        {"both, other order", ok(te + cl), "fault two_framings"},
        {"equal lengths", ok(cl + cl), "fault bad_length"},
        {"different lengths", ok(cl + "Content-Length: 6\r\n"), "fault bad_length"},
        {"listed lengths", ok("Content-Length: 5, 5\r\n"), "fault bad_length"},
        {"no number", ok("Content-Length: x\r\n"), "fault bad_length"},
        {"empty", ok("Content-Length:\r\n"), "fault bad_length"},
        {"negative", ok("Content-Length: -1\r\n"), "fault bad_length"},
        {"too large", ok("Content-Length: 99999999999999999999\r\n"), "fault bad_length"},
        {"gzip", ok("Transfer-Encoding: gzip\r\n"), "fault bad_coding"},
        {"gzip, chunked", ok("Transfer-Encoding: gzip, chunked\r\n"), "fault bad_coding"},
        {"identity", ok("Transfer-Encoding: identity\r\n"), "fault bad_coding"},
        {"chunked twice", ok(te + te), "fault bad_coding"},
        {"chunked in http/1.0", "HTTP/1.0 200 OK\r\n" + te, "fault bad_coding"},
    });
}

TEST(ResponseBody, IsNotThereWhateverTheFieldsSay) {
    const std::string next = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    const std::string then = " | 200 keep \"hi\"";
    expect_responses({
        {"204", "HTTP/1.1 204 x\r\n\r\n" + next, "204 keep" + then},
        {"204 with a length", "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n" + next,
         "204 keep" + then},
        {"204 chunked", "HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n" + next,
         "204 keep" + then},
        {"304", "HTTP/1.1 304 x\r\n\r\n" + next, "304 keep" + then},
        {"304 with a length", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n" + next,
         "304 keep" + then},
        {"304 and close", "HTTP/1.1 304 x\r\nConnection: close\r\n\r\n", "304 close"},
        {"204 in http/1.0", "HTTP/1.0 204 x\r\n\r\n", "204 close"},
        {"204 with two framings",
         "HTTP/1.1 204 x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         "fault two_framings"},
    });
    expect_responses(
        {
            {"with a length", ok("Content-Length: 5\r\n") + ok(""), "200 keep | 200 keep"},
            {"chunked", ok("Transfer-Encoding: chunked\r\n") + ok(""), "200 keep | 200 keep"},
            {"neither", ok(""), "200 keep"},
            {"an error", "HTTP/1.1 404 x\r\nContent-Length: 9\r\n\r\n", "404 keep"},
            {"a bad length all the same", ok("Content-Length: x\r\n"), "fault bad_length"},
        },
        Method::head);
}

TEST(InterimResponse, ComesBeforeTheAnswer) {
    const std::string hi = ok("Content-Length: 2\r\n", "hi");
    expect_responses({
        {"100", "HTTP/1.1 100 Continue\r\n\r\n" + hi, "100 keep | 200 keep \"hi\""},
        {"102", "HTTP/1.1 102 Processing\r\n\r\n" + hi, "102 keep | 200 keep \"hi\""},
        {"103 with fields", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + hi,
         "103 keep | 200 keep \"hi\""},
        {"199", "HTTP/1.1 199 x\r\n\r\n" + hi, "199 keep | 200 keep \"hi\""},
        {"two", "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\n\r\n" + hi,
         "100 keep | 103 keep | 200 keep \"hi\""},
        {"100 with a length", "HTTP/1.1 100 x\r\nContent-Length: 5\r\n\r\n" + hi,
         "100 keep | 200 keep \"hi\""},
        {"101", "HTTP/1.1 101 Switching Protocols\r\n", "fault unasked_upgrade"},
        {"101 without a phrase", "HTTP/1.1 101\r\n", "fault unasked_upgrade"},
    });
}

TEST(Responses, FollowOneAnother) {
    const std::string hi = ok("Content-Length: 2\r\n", "hi");
    const std::string yo = ok("Transfer-Encoding: chunked\r\n", "2\r\nyo\r\n0\r\n\r\n");
    expect_responses({
        {"length, length", hi + hi, "200 keep \"hi\" | 200 keep \"hi\""},
        {"length, chunked", hi + yo, "200 keep \"hi\" | 200 keep \"yo\""},
        {"chunked, length", yo + hi, "200 keep \"yo\" | 200 keep \"hi\""},
        {"a length does not stick", hi + "HTTP/1.1 204 x\r\n\r\n" + hi,
         "200 keep \"hi\" | 204 keep | 200 keep \"hi\""},
        {"empty line between", hi + "\r\n" + hi, "200 keep \"hi\" | fault bad_status_line"},
        {"too long a body", ok("Content-Length: 2\r\n", "hi!"),
         "200 keep \"hi\" | fault bad_status_line"},
        {"a version does not stick", "HTTP/1.0 204 x\r\nConnection: keep-alive\r\n\r\n" + hi,
         "204 keep | 200 keep \"hi\""},
    });
}

TEST(ResponseHead, ShowsWhatWasParsed) {
    const std::string raw = "HTTP/1.0 503 Busy\r\nRetry-After: 3\r\nContent-Length: 7\r\n\r\n";
    ResponseParser parser({});
    ASSERT_EQ(parser.parse(raw, Method::post), Progress::done);
    EXPECT_EQ(parser.size(), raw.size());
    EXPECT_EQ(parser.head().status, 503);
    EXPECT_EQ(parser.head().version, Version::http_1_0);
    EXPECT_EQ(parser.head().framing, Framing::length);
    EXPECT_EQ(parser.head().length, 7U);
    EXPECT_FALSE(parser.head().is_interim());
    ASSERT_EQ(parser.head().fields.size(), 2U);
    EXPECT_EQ(parser.head().fields[0].name, "Retry-After");
    EXPECT_EQ(parser.head().fields[0].value, "3");
}

}  // namespace
}  // namespace turnpike::http::test
