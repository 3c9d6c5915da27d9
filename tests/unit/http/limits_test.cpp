// Limits: each one holds exactly, however the bytes are split, and before memory is used.
#include <gtest/gtest.h>

#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

std::string long_target(std::size_t size) { return "/" + std::string(size - 1, 'a'); }

std::string with_fields(int count) {
    std::string raw = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < count; ++i) raw += "A: b\r\n";
    return raw + "\r\n";
}

TEST(Limits, BoundTheTarget) {
    const std::string over = "fault target_too_long";
    expect_requests(
        {
            {"just fits", get(long_target(40)), "GET " + long_target(40) + " keep"},
            {"one more", get(long_target(41)), over},
            {"one more, of a long method", "OPTIONS " + long_target(41) + " HTTP/1.1\r\n", over},
            {"many more", get(long_target(4000)), over},
            {"endless", "GET " + long_target(4000), over},
            {"endless, in capitals", "GET " + std::string(4000, 'A'), over},
            {"absolute", get("http://a/" + std::string(40, 'a')), over},
            {"endless method", std::string(4000, 'A'), "fault unknown_method"},
            {"endless garbage", "A\x01" + std::string(4000, 'A'), "fault bad_method"},
            {"endless version", "GET / " + std::string(4000, 'A'), "fault bad_request_line"},
            {"endless spaces", "GET " + std::string(4000, ' '), "fault bad_request_line"},
            {"after empty lines", "\r\n\r\n" + get(long_target(40)),
             "GET " + long_target(40) + " keep"},
            {"after empty lines, one more", "\r\n\r\n" + get(long_target(41)), over},
        },
        {.target_max = 40});
}

TEST(Limits, BoundTheHead) {
    const std::string head = with_field("A: b");
    const std::string over = "fault head_too_large";
    const Limits limits{.head_max = head.size()};
    expect_requests(
        {
            {"just fits", head, "GET / keep"},
            {"the next is counted anew", head + head, "GET / keep | GET / keep"},
            {"a body is not counted", head + post("", ""), "GET / keep | POST / keep"},
            {"one more", with_field("A: bc"), over},
            {"empty lines count", "\r\n" + head, over},
            {"endless value", "GET / HTTP/1.1\r\nHost: " + std::string(1000, 'a'), over},
            {"endless name", "GET / HTTP/1.1\r\n" + std::string(1000, 'a'), over},
            {"endless method", std::string(1000, 'a'), over},
            {"a fault before the limit", "GET / HTTP/1.1\r\n: b\r\n" + std::string(1000, 'a'),
             "fault bad_field"},
            {"a fault after the limit", "GET / HTTP/1.1\r\nHost: " + std::string(1000, 'a') + "\n",
             over},
        },
        limits);
    expect_requests(
        {{"of one byte", "\rX", over}, {"of one byte, tls", "\x16", "fault bad_method"}},
        {.head_max = 1});
}

TEST(Limits, BoundTheNumberOfFields) {
    expect_requests(
        {
            {"just fits", with_fields(5), "GET / keep"},
            {"one more", with_fields(6), "fault too_many_fields"},
            {"many more", with_fields(1000), "fault too_many_fields"},
            {"each request anew", with_fields(5) + with_fields(5), "GET / keep | GET / keep"},
        },
        {.fields_max = 5});
    expect_requests({{"none", "GET / HTTP/1.0\r\n\r\n", "GET / close"},
                     {"one", "GET / HTTP/1.0\r\nA: b\r\n", "fault too_many_fields"}},
                    {.fields_max = 0});
}

TEST(Limits, AreGenerousByDefault) {
    expect_requests({
        {"8 KiB of target", get(long_target(8192)), "GET " + long_target(8192) + " keep"},
        {"more", get(long_target(8193)), "fault target_too_long"},
        {"100 fields", with_fields(100), "GET / keep"},
        {"101", with_fields(101), "fault too_many_fields"},
        {"a field of 64000 bytes", with_field("A: " + std::string(64'000, 'b')), "GET / keep"},
        {"a field of 66000 bytes", with_field("A: " + std::string(66'000, 'b')),
         "fault head_too_large"},
    });
}

TEST(Limits, BoundResponsesToo) {
    const std::string head = "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n";
    expect_responses(
        {
            {"just fits", head, "204 keep"},
            {"one more", "HTTP/1.1 204 No Contents\r\nA: b\r\n\r\n", "fault head_too_large"},
            {"endless phrase", "HTTP/1.1 204 " + std::string(1000, 'a'), "fault head_too_large"},
            {"endless value", "HTTP/1.1 204 No Content\r\nA: " + std::string(1000, 'a'),
             "fault head_too_large"},
        },
        Method::get, {.head_max = head.size()});
    expect_responses({{"one", "HTTP/1.1 204\r\nA: b\r\n\r\n", "204 keep"},
                      {"two", "HTTP/1.1 204\r\nA: b\r\nA: b\r\n\r\n", "fault too_many_fields"}},
                     Method::get, {.fields_max = 1});
}

}  // namespace
}  // namespace turnpike::http::test
