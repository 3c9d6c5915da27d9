// Chunked bodies: sizes, extensions, data and trailers.
#include <gtest/gtest.h>

#include "http/body_decoder.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string empty = "POST / keep \"\"";
const std::string hello = "POST / keep \"hello\"";

TEST(Chunked, JoinsTheDataOfItsChunks) {
    expect_requests({
        {"none", chunked("0\r\n\r\n"), empty},
        {"one", chunked("5\r\nhello\r\n0\r\n\r\n"), hello},
        {"two", chunked("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), hello},
        {"five", chunked("1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"), hello},
        {"hex", chunked("a\r\n0123456789\r\n0\r\n\r\n"), "POST / keep \"0123456789\""},
        {"hex in capitals", chunked("A\r\n0123456789\r\n0\r\n\r\n"), "POST / keep \"0123456789\""},
        {"two digits", chunked("10\r\n0123456789abcdef\r\n0\r\n\r\n"),
         "POST / keep \"0123456789abcdef\""},
        {"leading zeros", chunked("0000000000000005\r\nhello\r\n0\r\n\r\n"), hello},
        {"many zeros at the end", chunked("5\r\nhello\r\n0000\r\n\r\n"), hello},
        {"data with line ends", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), "POST / keep \"\r\n\r\n\""},
        {"data like a last chunk", chunked("5\r\n0\r\n\r\n\r\n0\r\n\r\n"),
         "POST / keep \"0\r\n\r\n\""},
        {"data with nul", chunked("1\r\n\0\r\n0\r\n\r\n"s), "POST / keep \"\0\""s},
    });
}

TEST(Chunked, RefusesMalformedSizes) {
    Rows rows;
    for (const std::string& size :
         {"-5"s,    "+5"s, "-0"s,  "+0"s,    "0x5"s,      "5x"s,  "x5"s,    "g"s,
          " 5"s,    "5 "s, "\t5"s, "5\t"s,   "5 5"s,      "5,"s,  "5."s,    "5h"s,
          ""s,      " "s,  ";a"s,  "\"5\""s, "\xd9\xa5"s, "5\0"s, "\0"s,    "5 ;a"s,
          "5\t;a"s, "5:"s, "0 "s,  "0_5"s,   "5g0"s,      "5\v"s, "5\xa0"s, "#5"s})
        rows.push_back({"[" + size + "]", chunked(size + "\r\nhello\r\n0\r\n\r\n"),
                        empty + " fault bad_chunk"});
    expect_requests(rows);
}

TEST(Chunked, RefusesSizesThatOverflow) {
    expect_requests({
        {"2^63 - 1 is taken", chunked("7fffffffffffffff\r\nx"),
         "POST / keep \"x\" fault truncated"},
        {"2^63", chunked("8000000000000000\r\n"), empty + " fault bad_chunk"},
        {"2^64 - 1", chunked("ffffffffffffffff\r\n"), empty + " fault bad_chunk"},
        {"2^64", chunked("10000000000000000\r\n"), empty + " fault bad_chunk"},
        {"2^64 + 5", chunked("10000000000000005\r\nhello\r\n"), empty + " fault bad_chunk"},
        {"2^32 + 5 is not five", chunked("100000005\r\nhello\r\n0\r\n\r\n"),
         "POST / keep \"hello\r\n0\r\n\r\n\" fault truncated"},
        {"17 digits", chunked("00000000000000005\r\nhello\r\n"), empty + " fault bad_chunk"},
        {"endless zeros", chunked(std::string(1000, '0')), empty + " fault bad_chunk"},
    });
}

TEST(Chunked, RefusesOtherLineEndsThanCrlf) {
    expect_requests({
        {"lf after the size", chunked("5\nhello\r\n0\r\n\r\n"), empty + " fault bad_line_end"},
        {"cr after the size", chunked("5\rhello\r\n0\r\n\r\n"), empty + " fault bad_line_end"},
        {"cr twice after the size", chunked("5\r\r\nhello"), empty + " fault bad_line_end"},
        {"lf after an extension", chunked("5;a\nhello"), empty + " fault bad_line_end"},
        {"cr in an extension", chunked("5;a\rb\r\nhello"), empty + " fault bad_line_end"},
        {"lf after zero", chunked("0\n\n"), empty + " fault bad_line_end"},
        {"lf at the end", chunked("0\r\n\n"), empty + " fault bad_line_end"},
        {"cr at the end", chunked("0\r\n\rX"), empty + " fault bad_line_end"},
        {"lf before the size", chunked("\n5\r\nhello"), empty + " fault bad_chunk"},
        {"crlf before the size", chunked("\r\n5\r\nhello"), empty + " fault bad_chunk"},
    });
}

TEST(Chunked, RefusesDataWithoutCrlfAfterIt) {
    expect_requests({
        {"longer than said", chunked("4\r\nhello\r\n"), "POST / keep \"hell\" fault bad_chunk"},
        {"shorter than said", chunked("6\r\nhello\r\n0\r\n\r\n"),
         "POST / keep \"hello\r\" fault bad_chunk"},
        {"lf", chunked("5\r\nhello\n0\r\n\r\n"), "POST / keep \"hello\" fault bad_chunk"},
        {"cr", chunked("5\r\nhello\r0\r\n\r\n"), "POST / keep \"hello\" fault bad_chunk"},
        {"nothing", chunked("5\r\nhello0\r\n\r\n"), "POST / keep \"hello\" fault bad_chunk"},
        {"space", chunked("5\r\nhello \r\n0\r\n\r\n"), "POST / keep \"hello\" fault bad_chunk"},
        {"crlf twice", chunked("5\r\nhello\r\n\r\n0\r\n\r\n"),
         "POST / keep \"hello\" fault bad_chunk"},
    });
}

TEST(Chunked, IgnoresShortExtensions) {
    expect_requests({
        {"name", chunked("5;a\r\nhello\r\n0\r\n\r\n"), hello},
        {"value", chunked("5;a=b\r\nhello\r\n0\r\n\r\n"), hello},
        {"quoted", chunked("5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n"), hello},
        {"several", chunked("5;a;b=c;d\r\nhello\r\n0;e\r\n\r\n"), hello},
        {"space within", chunked("5; a = b\r\nhello\r\n0\r\n\r\n"), hello},
        {"escaped", chunked("5;a=\"\\\"b\"\r\nhello\r\n0\r\n\r\n"), hello},
        {"blanks at the end", chunked("5;a \t;b=c \r\nhello\r\n0\r\n\r\n"), hello},
        {"of the last", chunked("0;a=b\r\n\r\n"), empty},
        {"the longest", chunked("5;" + std::string(255, 'a') + "\r\nhello\r\n0\r\n\r\n"), hello},
        {"too long", chunked("5;" + std::string(256, 'a')), empty + " fault bad_chunk"},
        {"endless", chunked("5;" + std::string(10'000, 'a')), empty + " fault bad_chunk"},
        {"each as long as may be",
         chunked("1;" + std::string(255, 'a') + "\r\nx\r\n1;" + std::string(255, 'b') +
                 "\r\ny\r\n0\r\n\r\n"),
         "POST / keep \"xy\""},
        {"nul", chunked("5;a\0\r\nhello"s), empty + " fault bad_chunk"},
        {"control", chunked("5;a\x01\r\nhello"), empty + " fault bad_chunk"},
        {"delete", chunked("5;\x7f\r\nhello"), empty + " fault bad_chunk"},
    });
}

TEST(Chunked, RefusesMalformedExtensions) {
    Rows rows;
    for (const std::string& extension :
         {";"s,         "; "s,     ";\t"s,    ";;"s,         ";;a"s,        ";a;"s,
          ";a;;b"s,     ";=b"s,    ";a="s,    ";a= "s,       ";a=;b"s,      ";a b"s,
          ";a=b c"s,    ";a=b=c"s, ";a=\"b"s, ";a=\"b\\\""s, ";a=\"b\"c"s,  ";\"a\""s,
          ";a=b\"c\""s, ";a,b"s,   ";a/b"s,   ";\xc3\xa4"s,  ";a=\xc3\xa4"s})
        rows.push_back({"[" + extension + "]", chunked("5" + extension + "\r\nhello\r\n0\r\n\r\n"),
                        empty + " fault bad_chunk"});
    expect_requests(rows);
}

TEST(Chunked, ChecksAndDropsTrailers) {
    const std::string refused = empty + " fault bad_trailer";
    expect_requests({
        {"one", chunked("0\r\nX-Sum: 1\r\n\r\n"), empty},
        {"two", chunked("0\r\nX-Sum: 1\r\nY:\r\n\r\n"), empty},
        {"a long name", chunked("0\r\n" + std::string(100, 'x') + ": 1\r\n\r\n"), empty},
        {"a name that begins like a refused one", chunked("0\r\nHosts: 1\r\nTEA: 1\r\n\r\n"),
         empty},
        {"high bytes", chunked("0\r\nX: \xe2\x82\xac\r\n\r\n"), empty},
        {"no name", chunked("0\r\n: 1\r\n"), refused},
        {"no colon", chunked("0\r\nX\r\n"), refused},
        {"space before the colon", chunked("0\r\nX : 1\r\n"), refused},
        {"folded", chunked("0\r\nX: 1\r\n 2\r\n"), refused},
        {"space first", chunked("0\r\n X: 1\r\n"), refused},
        {"nul in the value", chunked("0\r\nX: \0\r\n"s), refused},
        {"nul in the name", chunked("0\r\nX\0: 1\r\n"s), refused},
        {"control in the value", chunked("0\r\nX: \x1f\r\n"), refused},
        {"lf after the value", chunked("0\r\nX: 1\n"), empty + " fault bad_line_end"},
        {"cr in the value", chunked("0\r\nX: 1\r2\r\n"), empty + " fault bad_line_end"},
        {"lf in the name", chunked("0\r\nX\n"), empty + " fault bad_line_end"},
        {"lf at the end", chunked("0\r\nX: 1\r\n\n"), empty + " fault bad_line_end"},
        {"cut short", chunked("0\r\nX: 1\r\n"), empty + " fault truncated"},
        {"a request", chunked("0\r\nGET / HTTP/1.1\r\n"), refused},
    });
}

TEST(Chunked, RefusesTrailersThatComeTooLateToCount) {
    Rows rows;
    for (const std::string& name : {"Content-Length"s,
                                    "Transfer-Encoding"s,
                                    "Host"s,
                                    "Connection"s,
                                    "Expect"s,
                                    "Upgrade"s,
                                    "TE"s,
                                    "Trailer"s,
                                    "Authorization"s,
                                    "Proxy-Authorization"s,
                                    "Cookie"s,
                                    "Set-Cookie"s,
                                    "Content-Type"s,
                                    "Content-Encoding"s,
                                    "Content-Range"s,
                                    "Cache-Control"s,
                                    "Max-Forwards"s,
                                    "Range"s,
                                    "If-None-Match"s,
                                    "Keep-Alive"s,
                                    "content-LENGTH"s,
                                    "hOST"s,
                                    "WWW-Authenticate"s})
        rows.push_back({name, chunked("0\r\n" + name + ": 0\r\n"), empty + " fault bad_trailer"});
    rows.push_back(
        {"the second", chunked("0\r\nX: y\r\nHost: b\r\n"), empty + " fault bad_trailer"});
    expect_requests(rows);
}

TEST(Chunked, LimitsTrailers) {
    const Limits limits{.trailer_max = 20};
    expect_requests(
        {
            {"just fits", chunked("0\r\nX: 456789012345678\r\n\r\n"), empty},
            {"one more", chunked("0\r\nX: 4567890123456789\r\n\r\n"),
             empty + " fault trailer_too_large"},
            {"many small ones", chunked("0\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:\r\n"),
             empty + " fault trailer_too_large"},
            {"a long name", chunked("0\r\n" + std::string(21, 'x')),
             empty + " fault trailer_too_large"},
            {"just fits after many zeros", chunked("0000\r\nX: 456789012345678\r\n\r\n"), empty},
            {"none", chunked("0\r\n\r\n"), empty},
        },
        limits);
    expect_requests({{"no room at all", chunked("0\r\n\r\n"), empty}}, {.trailer_max = 0});
}

TEST(Chunked, IsTruncatedWhereverItEnds) {
    const std::string body = "5;a\r\nhello\r\n0\r\nX: y\r\n\r\n";
    for (std::size_t size = 0; size < body.size(); ++size) {
        BodyDecoder decoder(Framing::chunked, 0, {});
        std::string_view left = std::string_view(body).substr(0, size);
        while (!left.empty()) left.remove_prefix(decoder.next(left).consumed);
        EXPECT_EQ(decoder.end(), Progress::fault) << size;
        EXPECT_EQ(decoder.fault(), Fault::truncated) << size;
    }
}

}  // namespace
}  // namespace turnpike::http::test
