// Both readers find the same, however the bytes are split.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tests/unit/http/reading.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string post_hello = post("Content-Length: 5\r\n", "hello");

struct Requests {
    std::string raw;
    std::string told;
};

const std::string last_requests =
    "GET /b HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n" + post_hello + "\r\n" +
    chunked("5;x=y\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nA: b\r\nC: d\r\n\r\n") +
    "PUT /c HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
const std::string last_as_told =
    "GET /b keep | POST / keep \"hello\" | POST / keep \"hello world\" | "
    "PUT /c keep continue \"\"";

const std::array<Requests, 5> requests_in_a_row{{
    {get("/a") + last_requests, "GET /a keep | " + last_as_told},
    {last_requests + "OPTIONS * HTTP/1.0\r\n\r\n" + get("/unread"),
     last_as_told + " | OPTIONS * close"},
    {last_requests + "GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n",
     last_as_told + " | fault bad_line_end"},
    {last_requests + chunked("3\r\nabcd\r\n"),
     last_as_told + " | POST / keep \"abc\" fault bad_chunk"},
    {last_requests + post("Content-Length: 7\r\n", "sev"),
     last_as_told + " | POST / keep \"sev\" fault truncated"},
}};

TEST(RequestReader, FindsTheSameAtEverySplit) {
    for (const Requests& row : requests_in_a_row)
        for (std::size_t at = 0; at <= row.raw.size(); ++at) {
            RequestsRead read;
            read.feed(std::string_view(row.raw).substr(0, at));
            read.feed(std::string_view(row.raw).substr(at));
            ASSERT_EQ(read.finish(), row.told) << "split at " << at;
        }
}

TEST(RequestReader, FindsTheSameInPiecesOfEverySize) {
    for (const Requests& row : requests_in_a_row)
        for (std::size_t size = 1; size <= 70; ++size) {
            RequestsRead read;
            for (std::string_view left = row.raw; !left.empty();) {
                read.feed(left.substr(0, size));
                left.remove_prefix(std::min(size, left.size()));
            }
            ASSERT_EQ(read.finish(), row.told) << "in pieces of " << size;
        }
}

TEST(RequestReader, FindsTheSameInManyRequestsThatMoveInItsBuffer) {
    std::string raw;
    std::string told;
    for (int i = 0; i < 200; ++i) {
        raw += get("/" + std::to_string(i)) + post_hello;
        told +=
            (i == 0 ? "" : " | ") + ("GET /" + std::to_string(i)) + " keep | POST / keep \"hello\"";
    }
    for (const std::size_t size : {1U, 1000U, 4095U, 4096U, 100'000U}) {
        RequestsRead read;
        for (std::string_view left = raw; !left.empty();) {
            read.feed(left.substr(0, size));
            left.remove_prefix(std::min<std::size_t>(size, left.size()));
        }
        EXPECT_EQ(read.finish(), told) << size;
    }
}

// ── answers ──────────────────────────────────────────────────────────────────────────────────────

const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";
const std::string hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const std::string chunked_hello =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n";

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

struct Answer {
    std::string raw;
    std::string told;
    Method asked = Method::get;
    ResponseReader::End how = ResponseReader::End::clean;
};

const std::string with_fields = "HTTP/1.1 200 OK\r\nDate: now\r\nA: b\r\n";

const std::array<Answer, 11> answers{{
    {interim + with_fields + "Content-Length: 11\r\n\r\nhello world", "200 keep \"hello world\""},
    {with_fields + "Content-Length: 5\r\n\r\nhello, and more", "200 keep \"hello\""},
    {with_fields + "Content-Length: 12\r\n\r\nhello", "200 keep \"hello\" fault truncated"},
    {interim + interim + chunked_hello, "200 keep \"hello\""},
    {with_fields + "Transfer-Encoding: chunked\r\n\r\n2;a\r\nhe\r\n3\r\nllo0\r\n",
     "200 keep \"hello\" fault bad_chunk"},
    {with_fields + "\r\nuntil the end", "200 close \"until the end\""},
    {with_fields + "\r\nuntil the end", "200 close \"until the end\" fault truncated", Method::get,
     ResponseReader::End::broken},
    {with_fields + "Content-Length: 12\r\n\r\n", "200 keep", Method::head},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "304 keep"},
    {repeated(interim, 17) + hello, "fault too_many_interims"},
    {interim + with_fields + "No colon\r\n\r\n", "fault bad_field"},
}};

std::string told_of(const Answer& row, std::size_t first, std::size_t others) {
    ResponseRead read({}, row.asked);
    std::string_view left = row.raw;
    for (std::size_t size = first; !left.empty(); size = others) {
        read.feed(left.substr(0, size));
        left.remove_prefix(std::min(size, left.size()));
    }
    return read.finish(row.how);
}

TEST(ResponseReader, FindsTheSameAtEverySplit) {
    for (const Answer& row : answers)
        for (std::size_t at = 0; at <= row.raw.size(); ++at)
            ASSERT_EQ(told_of(row, at, row.raw.size()), row.told) << "split at " << at;
}

TEST(ResponseReader, FindsTheSameInPiecesOfEverySize) {
    for (const Answer& row : answers)
        for (std::size_t size = 1; size <= 70; ++size)
            ASSERT_EQ(told_of(row, size, size), row.told) << "in pieces of " << size;
}

}  // namespace
}  // namespace turnpike::http::test
