// The first line of a request: its form, method and version.
#include <gtest/gtest.h>

#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string rest = " HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(RequestLine, KnowsTheMethodsOfJobs) {
    expect_requests({
        {"get", "GET /" + rest, "GET / keep"},
        {"head", "HEAD /" + rest, "HEAD / keep"},
        {"post", "POST /" + rest, "POST / keep"},
        {"put", "PUT /" + rest, "PUT / keep"},
        {"patch", "PATCH /" + rest, "PATCH / keep"},
        {"delete", "DELETE /" + rest, "DELETE / keep"},
        {"options", "OPTIONS /" + rest, "OPTIONS / keep"},
    });
}

TEST(RequestLine, RefusesMethodsThatItDoesNotKnow) {
    expect_requests({
        {"small letters", "get /" + rest, "fault unknown_method"},
        {"mixed letters", "Get /" + rest, "fault unknown_method"},
        {"a beginning", "GE /" + rest, "fault unknown_method"},
        {"a longer one", "GETT /" + rest, "fault unknown_method"},
        {"two run together", "POSTGET /" + rest, "fault unknown_method"},
        {"one letter", "G /" + rest, "fault unknown_method"},
        {"webdav", "PROPFIND /" + rest, "fault unknown_method"},
        {"query", "QUERY /" + rest, "fault unknown_method"},
        {"purge", "PURGE /" + rest, "fault unknown_method"},
        {"any token", "!#$%&'*+-.^_`|~ /" + rest, "fault unknown_method"},
        {"digits", "123 /" + rest, "fault unknown_method"},
        {"a bad target too", "PURGE \\" + rest, "fault unknown_method"},
        {"ssh", "SSH-2.0-OpenSSH_9.2\r\n", "fault bad_request_line"},
        {"a response", "HTTP/1.1 200 OK\r\n", "fault bad_method"},
        {"smtp", "EHLO localhost\r\n", "fault bad_request_line"},
        {"rtsp", "OPTIONS / RTSP/1.0\r\n", "fault bad_request_line"},
    });
}

TEST(RequestLine, RefusesConnectAndTraceInAnyForm) {
    expect_requests({
        {"connect", "CONNECT a:443 HTTP/1.1\r\n", "fault refused_method"},
        {"connect to a path", "CONNECT / HTTP/1.1\r\n", "fault refused_method"},
        {"trace", "TRACE / HTTP/1.1\r\n", "fault refused_method"},
        {"trace in 1.0", "TRACE / HTTP/1.0\r\n", "fault refused_method"},
    });
}

TEST(RequestLine, RefusesAFirstByteThatNoMethodBeginsWithAtOnce) {
    expect_requests({
        {"tls hello", "\x16\x03\x01"s, "fault bad_method"},
        {"one byte of it", "\x16"s, "fault bad_method"},
        {"nul", "\0"s, "fault bad_method"},
        {"space", " GET /" + rest, "fault bad_method"},
        {"tab", "\t"s, "fault bad_method"},
        {"colon", ":"s, "fault bad_method"},
        {"slash", "/"s, "fault bad_method"},
        {"brace", "{\"json\": 1}", "fault bad_method"},
        {"high byte", "\xff"s, "fault bad_method"},
        {"byte order mark", "\xef\xbb\xbfGET /" + rest, "fault bad_method"},
        {"delete", "\x7f"s, "fault bad_method"},
        {"lf", "\n"s, "fault bad_line_end"},
        {"cr and a letter", "\rG", "fault bad_line_end"},
        {"two crs", "\r\r", "fault bad_line_end"},
    });
}

TEST(RequestLine, RefusesOtherBytesInTheMethod) {
    expect_requests({
        {"tab for space", "GET\t/ HTTP/1.1\r\n", "fault bad_method"},
        {"nul", "GE\0T / HTTP/1.1\r\n"s, "fault bad_method"},
        {"high byte", "GE\xc3\x89 / HTTP/1.1\r\n", "fault bad_method"},
        {"colon", "GET: / HTTP/1.1\r\n", "fault bad_method"},
        {"parenthesis", "GET( / HTTP/1.1\r\n", "fault bad_method"},
        {"quotes", "G\"E\"T / HTTP/1.1\r\n", "fault bad_method"},
        {"form feed", "GET\f/ HTTP/1.1\r\n", "fault bad_method"},
        {"cr", "GE\rT / HTTP/1.1\r\n", "fault bad_line_end"},
        {"cr for space", "GET\r/ HTTP/1.1\r\n", "fault bad_line_end"},
    });
}

TEST(RequestLine, HasExactlyTwoSingleSpaces) {
    expect_requests({
        {"two before the target", "GET  / HTTP/1.1\r\n", "fault bad_request_line"},
        {"two after the target", "GET /  HTTP/1.1\r\n", "fault bad_request_line"},
        {"one at the end", "GET / HTTP/1.1 \r\n", "fault bad_request_line"},
        {"tab before the version", "GET /\tHTTP/1.1\r\n", "fault bad_request_line"},
        {"tab at the end", "GET / HTTP/1.1\t\r\n", "fault bad_request_line"},
        {"space in the target", "GET /a b HTTP/1.1\r\n", "fault bad_request_line"},
        {"no target", "GET HTTP/1.1\r\n", "fault bad_request_line"},
        {"an empty target", "GET  HTTP/1.1\r\n", "fault bad_request_line"},
        {"no version", "GET /\r\n", "fault bad_request_line"},
        {"an empty version", "GET / \r\n", "fault bad_request_line"},
        {"only a method", "GET\r\n", "fault bad_request_line"},
        {"only a method and a space", "GET \r\n", "fault bad_request_line"},
        {"a fourth word", "GET / HTTP/1.1 HTTP/1.1\r\n", "fault bad_request_line"},
        {"form feed for space", "GET /\fHTTP/1.1\r\n", "fault bad_request_line"},
        {"no-break space", "GET /\xa0HTTP/1.1\r\n", "fault bad_request_line"},
    });
}

TEST(RequestLine, KnowsTwoVersions) {
    expect_requests({
        {"1.0", "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / close"},
        {"2.0", "GET / HTTP/2.0\r\n", "fault bad_version"},
        {"the preface of http/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "fault bad_version"},
        {"3.0", "GET / HTTP/3.0\r\n", "fault bad_version"},
        {"1.2", "GET / HTTP/1.2\r\n", "fault bad_version"},
        {"1.9", "GET / HTTP/1.9\r\n", "fault bad_version"},
        {"0.9", "GET / HTTP/0.9\r\n", "fault bad_version"},
        {"0.0", "GET / HTTP/0.0\r\n", "fault bad_version"},
        {"9.9", "GET / HTTP/9.9\r\n", "fault bad_version"},
        {"small letters", "GET / http/1.1\r\n", "fault bad_request_line"},
        {"mixed letters", "GET / Http/1.1\r\n", "fault bad_request_line"},
        {"no minor", "GET / HTTP/1\r\n", "fault bad_request_line"},
        {"no minor after the dot", "GET / HTTP/1.\r\n", "fault bad_request_line"},
        {"no major", "GET / HTTP/.1\r\n", "fault bad_request_line"},
        {"two digits of minor", "GET / HTTP/1.10\r\n", "fault bad_request_line"},
        {"two digits of major", "GET / HTTP/11.1\r\n", "fault bad_request_line"},
        {"leading zero", "GET / HTTP/01.1\r\n", "fault bad_request_line"},
        {"comma", "GET / HTTP/1,1\r\n", "fault bad_request_line"},
        {"no slash", "GET / HTTP1.1\r\n", "fault bad_request_line"},
        {"space within", "GET / HTTP/ 1.1\r\n", "fault bad_request_line"},
        {"sign", "GET / HTTP/+1.1\r\n", "fault bad_request_line"},
        {"letters", "GET / HTTP/x.y\r\n", "fault bad_request_line"},
        {"shorter name", "GET / HTT/1.1\r\n", "fault bad_request_line"},
        {"another protocol", "GET / ICY/1.1\r\n", "fault bad_request_line"},
        {"https", "GET / HTTPS/1.1\r\n", "fault bad_request_line"},
        {"nul after it", "GET / HTTP/1.1\0\r\n"s, "fault bad_request_line"},
    });
}

TEST(RequestLine, EndsWithCrlf) {
    expect_requests({
        {"lf", "GET / HTTP/1.1\n", "fault bad_line_end"},
        {"lf at once", "GET\n", "fault bad_line_end"},
        {"lf after the target", "GET /\n", "fault bad_line_end"},
        {"cr twice", "GET / HTTP/1.1\r\r\n", "fault bad_line_end"},
        {"cr in the target", "GET /a\rb HTTP/1.1\r\n", "fault bad_line_end"},
        {"cr before a field", "GET / HTTP/1.1\rHost: a\r\n", "fault bad_line_end"},
        {"cr in the version", "GET / HTTP\r/1.1\r\n", "fault bad_line_end"},
        {"cr after the version number", "GET / HTTP/2.0\r\r\n", "fault bad_line_end"},
        {"incomplete", "GET / HTTP/1.1\r", "partial"},
        {"nothing", "", ""},
    });
}

TEST(RequestLine, MayHaveTwoEmptyLinesBeforeIt) {
    expect_requests({
        {"one", "\r\n" + get("/"), "GET / keep"},
        {"two", "\r\n\r\n" + get("/"), "GET / keep"},
        {"three", "\r\n\r\n\r\n", "fault bad_request_line"},
        {"one and a bare lf", "\r\n\n", "fault bad_line_end"},
        {"one and a space", "\r\n ", "fault bad_method"},
        {"one and a cr", "\r\n\rG", "fault bad_line_end"},
        {"one, then a bare lf after the line", "\r\nGET / HTTP/1.1\n", "fault bad_line_end"},
        {"one, alone", "\r\n", "partial"},
        {"half a one", "\r", "partial"},
    });
}

}  // namespace
}  // namespace turnpike::http::test
