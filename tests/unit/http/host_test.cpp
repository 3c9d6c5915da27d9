// Host: which values are well-formed, and that there must be exactly one.
#include <gtest/gtest.h>

#include "http/request_parser.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

std::string with_host(const std::string& host) {
    return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

Rows all_of(const std::vector<std::string>& hosts, const std::string& expected) {
    Rows rows;
    for (const std::string& host : hosts) rows.push_back({host, with_host(host), expected});
    return rows;
}

TEST(Host, IsANameOrAnAddressWithOrWithoutAPort) {
    expect_requests(all_of(
        {
            "a",
            "localhost",
            "LOCALHOST",
            "localhost:8000",
            "example.com",
            "example.com.",
            "a-b.c-d.example",
            "my_service",
            "~tilde",
            "xn--bcher-kva.example",
            "127.0.0.1",
            "127.0.0.1:80",
            "1.2.3.4.5",
            "0",
            "a:0",
            "a:1",
            "a:00080",
            "a:65535",
            "[::1]",
            "[::1]:8000",
            "[::]",
            "[1::]",
            "[1:2:3:4:5:6:7:8]",
            "[fe80::1]",
            "[FE80::ABCD]",
            "[::ffff:1.2.3.4]",
            "[1:2:3:4:5:6:1.2.3.4]",
            "[::1.2.3.4]",
            "[1:2:3:4:5:6:7::]",
            "[::2:3:4:5:6:7:8]",
            "[1:2::7:8]",
            "[0000:0:0:0:0:0:0:0001]",
        },
        "GET / keep"));
}

TEST(Host, IsRefusedWhenMalformed) {
    expect_requests(all_of(
        {
            "",
            " ",
            ":",
            ":80",
            "a:",
            "a:b",
            "a:-1",
            "a:+1",
            "a:0x50",
            "a:65536",
            "a:99999",
            "a:100000",
            "a:000080",
            "a:80:80",
            "a: 80",
            "a b",
            "a,b",
            "a, b",
            "a/b",
            "a/",
            "http://a",
            "//a",
            "u@a",
            "u:p@a",
            "a?b",
            "a#b",
            "a\\b",
            "a%20b",
            "%61",
            "a%",
            "a;b",
            "a=b",
            "a*",
            "*",
            "'a'",
            "\"a\"",
            "<a>",
            "a|b",
            "a\xc3\xa9",
            "\x80",
            "a\tb",
            "[]",
            "[",
            "]",
            "[]:80",
            "[:]",
            "[:::]",
            "[::1",
            "::1",
            "[::1]a",
            "[::1]:",
            "[::1]:x",
            "[::1]80",
            "[1]",
            "[1:2:3:4:5:6:7]",
            "[1:2:3:4:5:6:7:8:9]",
            "[1:2:3:4:5:6:7:8::]",
            "[1::2::3]",
            "[12345::]",
            "[g::]",
            "[::1%25eth0]",
            "[fe80::1%eth0]",
            "[v1.a]",
            "[127.0.0.1]",
            "[::1.2.3]",
            "[::1.2.3.4.5]",
            "[::256.2.3.4]",
            "[::1.2.3.4:1]",
            "[1.2.3.4::]",
            "[1:2:3:4:5:6:7:1.2.3.4]",
            "[::1.2.3.0004]",
            "[:1:2:3:4:5:6:7]",
            "[1:2:3:4:5:6:7:]",
            "[ ::1]",
            "a[::1]",
        },
        "fault bad_host"));
}

TEST(Host, IsGivenOnceInHttp11) {
    expect_requests({
        {"missing", "GET / HTTP/1.1\r\n\r\n", "fault bad_host"},
        {"missing among others", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", "fault bad_host"},
        {"twice", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "fault bad_host"},
        {"twice the same", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", "fault bad_host"},
        {"twice in other letters", "GET / HTTP/1.1\r\nHOST: a\r\nhost: a\r\n", "fault bad_host"},
        {"twice, apart", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOSt: a\r\n", "fault bad_host"},
        {"last", "GET / HTTP/1.1\r\nX: y\r\nHost: a\r\n\r\n", "GET / keep"},
        {"without a space", "GET / HTTP/1.1\r\nHost:a\r\n\r\n", "GET / keep"},
        {"with much space", "GET / HTTP/1.1\r\nHost: \t a \t \r\n\r\n", "GET / keep"},
        {"a name like it", "GET / HTTP/1.1\r\nHosts: a\r\n\r\n", "fault bad_host"},
        {"another name of its length", "GET / HTTP/1.1\r\nFrom: a\r\n\r\n", "fault bad_host"},
    });
}

TEST(Host, MayBeMissingInHttp10) {
    expect_requests({
        {"missing", "GET / HTTP/1.0\r\n\r\n", "GET / close"},
        {"there", "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / close"},
        {"twice", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n", "fault bad_host"},
        {"empty", "GET / HTTP/1.0\r\nHost:\r\n", "fault bad_host"},
        {"malformed", "GET / HTTP/1.0\r\nHost: a b\r\n", "fault bad_host"},
    });
}

std::string host_seen(const std::string& raw) {
    RequestParser parser({});
    EXPECT_EQ(parser.parse(raw), Progress::done);
    return std::string(parser.head().host);
}

TEST(Host, IsSeenAsItWasSent) {
    EXPECT_EQ(host_seen(with_host("Example.COM:80")), "Example.COM:80");
    EXPECT_EQ(host_seen(with_host("[::1]:80")), "[::1]:80");
    EXPECT_EQ(host_seen("GET / HTTP/1.0\r\n\r\n"), "");
    EXPECT_EQ(host_seen("GET http://A:1/ HTTP/1.0\r\n\r\n"), "A:1");
    EXPECT_EQ(host_seen("GET http://A/ HTTP/1.1\r\nHost: a\r\n\r\n"), "A");
}

}  // namespace
}  // namespace turnpike::http::test
