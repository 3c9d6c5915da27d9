// How the end of a request's body is found. A request that has two ways, or an unclear one, is
// refused.
#include <gtest/gtest.h>

#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string bad_length = "fault bad_length";
const std::string bad_coding = "fault bad_coding";
const std::string two_framings = "fault two_framings";

std::string length(std::string_view value) {
    return post("Content-Length: "s.append(value).append("\r\n"), "hello");
}
std::string coding(std::string_view value) {
    return post("Transfer-Encoding: "s.append(value).append("\r\n"), "0\r\n\r\n");
}

TEST(Framing, TakesAPlainLength) {
    expect_requests({
        {"five", length("5"), "POST / keep \"hello\""},
        {"zero", post("Content-Length: 0\r\n", ""), "POST / keep \"\""},
        {"leading zeros", length("0000000000000000000000000005"), "POST / keep \"hello\""},
        {"no space", post("Content-Length:5\r\n", "hello"), "POST / keep \"hello\""},
        {"space around", length(" \t5\t "), "POST / keep \"hello\""},
        {"small letters", post("content-length: 5\r\n", "hello"), "POST / keep \"hello\""},
        {"capitals", post("CONTENT-LENGTH: 5\r\n", "hello"), "POST / keep \"hello\""},
        {"of a get", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
         "GET / keep \"hi\""},
        {"of a head", "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
         "HEAD / keep \"hi\""},
        {"of http/1.0", "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", "POST / close \"hi\""},
        {"body with line ends", post("Content-Length: 4\r\n", "\r\n\r\n"),
         "POST / keep \"\r\n\r\n\""},
        {"body with nul", post("Content-Length: 3\r\n", "a\0b"s), "POST / keep \"a\0b\""s},
        {"no length, no body", post("", ""), "POST / keep"},
        {"a body that ends early", post("Content-Length: 6\r\n", "hello"),
         "POST / keep \"hello\" fault truncated"},
        {"the largest", post("Content-Length: 9223372036854775807\r\n", "x"),
         "POST / keep \"x\" fault truncated"},
    });
}

TEST(Framing, RefusesAnyOtherLength) {
    expect_requests({
        {"empty", length(""), bad_length},
        {"blank", length("  "), bad_length},
        {"negative", length("-5"), bad_length},
        {"minus zero", length("-0"), bad_length},
        {"plus", length("+5"), bad_length},
        {"hex", length("0x5"), bad_length},
        {"hex digit", length("a"), bad_length},
        {"letters after", length("5a"), bad_length},
        {"space within", length("5 5"), bad_length},
        {"decimal", length("5.0"), bad_length},
        {"exponent", length("5e0"), bad_length},
        {"quotes", length("\"5\""), bad_length},
        {"semicolon", length("5;"), bad_length},
        {"list", length("5,5"), bad_length},
        {"list with a space", length("5, 5"), bad_length},
        {"list of different ones", length("5, 6"), bad_length},
        {"comma after", length("5,"), bad_length},
        {"comma before", length(",5"), bad_length},
        {"underscore", length("1_000"), bad_length},
        {"arabic digit", length("\xd9\xa5"), bad_length},
        {"full-width digit", length("\xef\xbc\x95"), bad_length},
        {"superscript", length("\xb2"), bad_length},
        {"2^63", length("9223372036854775808"), bad_length},
        {"2^64", length("18446744073709551616"), bad_length},
        {"2^64 + 5", length("18446744073709551621"), bad_length},
        {"many digits", length(std::string(100, '9')), bad_length},
        {"in 1.0 too", "POST / HTTP/1.0\r\nContent-Length: x\r\n", bad_length},
    });
}

TEST(Framing, RefusesARepeatedLength) {
    expect_requests({
        {"equal", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), bad_length},
        {"different", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), bad_length},
        {"apart", post("Content-Length: 5\r\nX: y\r\ncontent-length: 5\r\n", "hello"), bad_length},
        {"zero and five", post("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"), bad_length},
        {"empty and five", post("Content-Length:\r\nContent-Length: 5\r\n", "hello"), bad_length},
        {"five and empty", post("Content-Length: 5\r\nContent-Length:\r\n", "hello"), bad_length},
        {"three", post("Content-Length: 5\r\nContent-Length: 5\r\nContent-Length: 5\r\n", "hello"),
         bad_length},
    });
}

TEST(Framing, TakesExactlyChunked) {
    expect_requests({
        {"small", coding("chunked"), "POST / keep \"\""},
        {"capitals", coding("CHUNKED"), "POST / keep \"\""},
        {"mixed", coding("cHuNkEd"), "POST / keep \"\""},
        {"space around", coding(" \tchunked\t "), "POST / keep \"\""},
        {"name in capitals", post("TRANSFER-ENCODING: chunked\r\n", "0\r\n\r\n"),
         "POST / keep \"\""},
        {"of a get", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "GET / keep \"\""},
    });
}

TEST(Framing, RefusesAnyOtherCoding) {
    expect_requests({
        {"empty", coding(""), bad_coding},
        {"identity", coding("identity"), bad_coding},
        {"gzip", coding("gzip"), bad_coding},
        {"gzip, chunked", coding("gzip, chunked"), bad_coding},
        {"chunked, gzip", coding("chunked, gzip"), bad_coding},
        {"chunked, chunked", coding("chunked, chunked"), bad_coding},
        {"chunked, identity", coding("chunked, identity"), bad_coding},
        {"identity, chunked", coding("identity, chunked"), bad_coding},
        {"comma after", coding("chunked,"), bad_coding},
        {"comma before", coding(", chunked"), bad_coding},
        {"parameter", coding("chunked;q=1"), bad_coding},
        {"semicolon", coding("chunked;"), bad_coding},
        {"quotes", coding("\"chunked\""), bad_coding},
        {"x-chunked", coding("x-chunked"), bad_coding},
        {"xchunked", coding("xchunked"), bad_coding},
        {"chunkedx", coding("chunkedx"), bad_coding},
        {"chunk", coding("chunk"), bad_coding},
        {"two words", coding("chunked foo"), bad_coding},
        {"equals", coding("=chunked"), bad_coding},
        {"deflate", coding("deflate"), bad_coding},
        {"long s",
         coding("chun\xc5\xbf"
                "ed"),
         bad_coding},
        {"kelvin sign",
         coding("chun\xe2\x84\xaa"
                "ed"),
         bad_coding},
        {"no-break space",
         coding("\xa0"
                "chunked"),
         bad_coding},
        {"vertical tab", coding("\vchunked"), "fault bad_field"},
        {"nul after", coding("chunked\0"s), "fault bad_field"},
    });
}

TEST(Framing, RefusesARepeatedCodingAndOneInHttp10) {
    const std::string te = "Transfer-Encoding: chunked\r\n";
    expect_requests({
        {"equal", post(te + te, "0\r\n\r\n"), bad_coding},
        {"identity after", post(te + "Transfer-Encoding: identity\r\n", "0\r\n\r\n"), bad_coding},
        {"identity before", post("Transfer-Encoding: identity\r\n" + te, "0\r\n\r\n"), bad_coding},
        {"gzip before", post("Transfer-Encoding: gzip\r\n" + te, "0\r\n\r\n"), bad_coding},
        {"empty after", post(te + "Transfer-Encoding:\r\n", "0\r\n\r\n"), bad_coding},
        {"1.0", "POST / HTTP/1.0\r\n" + te, bad_coding},
        {"1.0 with keep-alive", "POST / HTTP/1.0\r\nConnection: keep-alive\r\n" + te, bad_coding},
        {"1.0 with a length", "POST / HTTP/1.0\r\nContent-Length: 5\r\n" + te, bad_coding},
        {"1.0 with identity", "POST / HTTP/1.0\r\nTransfer-Encoding: identity\r\n", bad_coding},
    });
}

TEST(Framing, RefusesLengthAndCodingTogether) {
    const std::string te = "Transfer-Encoding: chunked\r\n";
    const std::string cl = "Content-Length: 5\r\n";
    expect_requests({
        {"length first", post(cl + te, "0\r\n\r\n"), two_framings},
        {"coding first", post(te + cl, "0\r\n\r\n"), two_framings},
        {"zero length first", post("Content-Length: 0\r\n" + te, "0\r\n\r\n"), two_framings},
        {"zero length last", post(te + "Content-Length: 0\r\n", "0\r\n\r\n"), two_framings},
        {"apart", post(cl + "X: y\r\n" + te, "0\r\n\r\n"), two_framings},
        {"in other letters", post("content-length: 5\r\nTRANSFER-encoding: Chunked\r\n", ""),
         two_framings},
        {"bad coding", post(cl + "Transfer-Encoding: x\r\n", ""), bad_coding},
        {"bad length", post(te + "Content-Length: x\r\n", ""), bad_length},
    });
}

TEST(Framing, IsNotFooledByNamesThatLookAlike) {
    expect_requests({
        {"underscore", post("Content_Length: 5\r\n", ""), "POST / keep"},
        {"longer", post("Content-Lengths: 5\r\n", ""), "POST / keep"},
        {"shorter", post("Content-Lengt: 5\r\n", ""), "POST / keep"},
        {"prefixed", post("X-Content-Length: 5\r\n", ""), "POST / keep"},
        {"same length", post("Content-Lengtk: 5\r\n", ""), "POST / keep"},
        {"coding with underscore", post("Transfer_Encoding: chunked\r\n", ""), "POST / keep"},
        {"coding, same length", post("Transfer-Encodinh: chunked\r\n", ""), "POST / keep"},
        {"in a value", post("X: Content-Length: 5\r\n", ""), "POST / keep"},
        {"te", post("TE: chunked\r\n", ""), "POST / keep"},
    });
}

}  // namespace
}  // namespace turnpike::http::test
