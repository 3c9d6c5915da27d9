// Request targets: which ones are accepted, and what is passed on.
#include <gtest/gtest.h>

#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

Rows accepted(const std::vector<std::string>& targets) {
    Rows rows;
    for (const std::string& target : targets)
        rows.push_back({target, get(target), "GET " + target + " keep"});
    return rows;
}

Rows refused(const std::vector<std::string>& targets) {
    Rows rows;
    for (const std::string& target : targets)
        rows.push_back({target, get(target), "fault bad_target"});
    return rows;
}

TEST(Target, HasNoOverlongCharacters) {
    const std::vector<std::string> lax = {
        "%c0%af",       "%C1%bF",          "%e0%80%af",         "%E0%9f%bf",
        "%f0%80%80%af", "%f8%80%80%80%af", "%fc%80%80%80%80%af"};
    for (const std::string& slash : lax)
        expect_requests(refused({"/" + slash, "/a/.." + slash + "b", "/?" + slash, "/a?b=" + slash,
                                 "/%" + slash.substr(1) + "/%41", "http://a/" + slash}));
    expect_requests(accepted({"/%c3%a4", "/%e0%a0%80", "/%f0%90%80%80", "/%c0", "/%c0propos",
                              "/%c0%41", "/%e9t%e9", "/%ff%fe", "/%25c0%25af", "/?%", "/?%c0%a"}));
}

TEST(Target, IsAPathWithAQuery) {
    expect_requests(accepted({
        "/",
        "//",
        "///a",
        "//host/path",
        "/a",
        "/a/",
        "/a/b/c",
        "/.",
        "/..",
        "/../../etc/passwd",
        "/a//b",
        "/?",
        "/?a",
        "/?a=b&c=d",
        "/a?b",
        "/a?b?c",
        "/a?/b/?/c",
        "/a:b@c",
        "/-._~",
        "/!$&'()*+,;=",
        "/?!$&'()*+,;=",
        "/%20",
        "/%2f%2F",
        "/%00",
        "/%7e",
        "/?%41",
        "/%e2%82%ac",
        "/%25",
        "/a;b=c;d",
        "/http://other/",
        "/-/status",
        "/*",
        "/v1/chat/completions",
    }));
}

TEST(Target, HasNoOtherCharacters) {
    expect_requests(refused({
        "/#",    "/a#b",      "/?a#b",         "#",         "/\\",       "/a\\b", "\\",  "/\"",
        "/<",    "/>",        "/a[0]",         "/?a=<1>",   "/{a}",      "/|",    "/^",  "/`",
        "/\x7f", "/\x01",     "/\x1f",         "/\t",       "/\0"s,      "/\v",   "/\f", "/\x80",
        "/\xff", "/\xc3\xa9", "/\xe2\x82\xac", "/\xc0\xaf", "/a\x1b[0m",
    }));
}

TEST(Target, EscapesWithTwoHexDigits) {
    expect_requests(refused({"/%", "/%2", "/%g0", "/%0g", "/%%20", "/%u0041", "/%+1", "/%,", "/a%",
                             "/a%a", "/%?a", "/%2?0", "/%2%20", "/%-1", "/%0x"}));
}

TEST(Target, HasAQueryAsBrowsersSendIt) {
    expect_requests(accepted({"/?page[size]=10&a[]=1", "/a?x={q:1}", "/?a|b", "/?a^b", "/?`ls`",
                              "/?q=\\d+", "/?50%", "/?%", "/?a=%x1", "/?%%20", "/?a?[b]"}));
    expect_requests(refused({"/?\"", "/?<", "/?>", "/?#", "/?\x7f", "/?\x80", "/?\t", "/[?a"}));
}

TEST(Target, BeginsWithASlash) {
    expect_requests(refused({"a", "a/b", "?", "?a=b", "*", "a:80", "example.com:443", "%2f", ".",
                             "..", "a*", "**", ":", "@", "://a/", "~"}));
}

TEST(Target, MayBeAbsoluteAndThenNamesTheHost) {
    expect_requests({
        {"path", get("http://a/b"), "GET /b keep"},
        {"slash", get("http://a/"), "GET / keep"},
        {"no path", get("http://a"), "GET / keep"},
        {"query", get("http://a/b?c"), "GET /b?c keep"},
        {"two slashes", get("http://a//b"), "GET //b keep"},
        {"scheme in capitals", get("HTTP://a/b"), "GET /b keep"},
        {"host in capitals", get("http://A/b"), "GET /b keep"},
        {"port", "GET http://a:80/ HTTP/1.1\r\nHost: a:80\r\n\r\n", "GET / keep"},
        {"ipv6", "GET http://[::1]:80/x HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET /x keep"},
        {"1.0 without host", "GET http://a/b HTTP/1.0\r\n\r\n", "GET /b close"},
        {"options of a path", "OPTIONS http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS /b keep"},
        {"options of all", "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * keep"},
    });
}

TEST(Target, RefusesAbsoluteFormsThatAreNotOurs) {
    expect_requests(
        refused({"https://a/",    "ftp://a/",    "http:/a",       "http:a",          "http:///",
                 "http://",       "http://?a",   "http://a?b",    "http://a#b",      "http://u@a/",
                 "http://u:p@a/", "http://a:/",  "http://a:x/",   "http://a:65536/", "http://a%/",
                 "http://a\\b/",  "http://a/%",  "http://a/\x80", "http://[::1/",    "http://::1/",
                 "ws://a/",       "http//a/",    "http:\\\\a/",   "file:///etc",     "http://a/#",
                 "http://a,b/",   "http://%61/", "javascript:1",  "httpx://a/"}));
}

TEST(Target, RefusesAnAbsoluteFormOfAnotherHost) {
    const std::string bad_host = "fault bad_host";
    expect_requests({
        {"other", get("http://b/"), bad_host},
        {"longer", get("http://aa/"), bad_host},
        {"subdomain", get("http://a.a/"), bad_host},
        {"port", get("http://a:80/"), bad_host},
        {"dot at the end", get("http://a./"), bad_host},
        {"no host", "GET http://a/ HTTP/1.1\r\n\r\n", bad_host},
        {"other in 1.0", "GET http://a/ HTTP/1.0\r\nHost: b\r\n\r\n", bad_host},
        {"other port", "GET http://a:1/ HTTP/1.1\r\nHost: a:2\r\n\r\n", bad_host},
    });
}

TEST(Target, IsAStarOnlyWithOptions) {
    expect_requests({
        {"options", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * keep"},
        {"get", get("*"), "fault bad_target"},
        {"post", "POST * HTTP/1.1\r\n", "fault bad_target"},
        {"head", "HEAD * HTTP/1.1\r\n", "fault bad_target"},
        {"options of two", "OPTIONS ** HTTP/1.1\r\n", "fault bad_target"},
        {"options of nothing", "OPTIONS  HTTP/1.1\r\n", "fault bad_request_line"},
        {"options of an authority", "OPTIONS a:80 HTTP/1.1\r\n", "fault bad_target"},
    });
}

TEST(Target, TakesEveryByteOfRfc3986AndInQueriesWhatBrowsersSend) {
    const std::string in_paths =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+,;=:@/?%";
    const std::string in_queries = in_paths + "[]{}|^`\\";
    Rows rows;
    for (const auto& [begin, allowed] : {std::pair("/a"s, in_paths), std::pair("/?"s, in_queries)})
        for (int c = 0; c < 256; ++c) {
            if (c == ' ' || c == '\r' || c == '\n') continue;
            const std::string target = begin + static_cast<char>(c) + "bc";  // "%bc" is an escape
            const bool taken = c != 0 && allowed.contains(static_cast<char>(c));
            rows.push_back({begin + " and byte " + std::to_string(c), get(target),
                            taken ? "GET " + target + " keep" : "fault bad_target"});
        }
    expect_requests(rows);
}

}  // namespace
}  // namespace turnpike::http::test
