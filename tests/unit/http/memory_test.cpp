// Memory: a chunk needs none, a further message on a connection needs none, and an idle connection
// needs little.
#include <gtest/gtest.h>

#include <cstdint>

#include "bench/allocations.h"
#include "http/body_decoder.h"
#include "http/request_parser.h"
#include "http/response_parser.h"
#include "http/write.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

std::string request_with_fields(int count) {
    std::string raw = "GET /path HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < count; ++i) raw += "X-Field-" + std::to_string(i) + ": some value\r\n";
    return raw + "\r\n";
}

TEST(Memory, DoesNotGrowWithTheNumberOfChunks) {
    constexpr int chunks = 10'000'000;
    BodyDecoder body(Framing::chunked, 0, {});
    const std::string chunk = "1\r\nx\r\n";
    const std::uint64_t before = allocations;
    std::uint64_t decoded = 0;
    for (int i = 0; i < chunks; ++i)
        for (std::string_view left = chunk; !left.empty();) {
            const auto step = body.next(left);
            decoded += step.data.size();
            left.remove_prefix(step.consumed);
        }
    EXPECT_EQ(decoded, std::uint64_t{chunks});
    EXPECT_EQ(body.next(last_chunk).progress, Progress::done);
    EXPECT_EQ(allocations, before);
}

TEST(Memory, IsNotTakenAnewForEachUsualRequest) {
    const std::string raw = request_with_fields(16);
    RequestParser parser({});
    ASSERT_EQ(parser.parse(raw), Progress::done);
    const std::uint64_t before = allocations;
    for (int i = 0; i < 100; ++i) {
        parser.reset();
        ASSERT_EQ(parser.parse(raw), Progress::done);
        ASSERT_EQ(parser.head().fields.size(), 16U);
    }
    EXPECT_EQ(allocations, before);
}

TEST(Memory, IsNotTakenAnewForEachUsualResponse) {
    const std::string raw =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n";
    ResponseParser parser({});
    ASSERT_EQ(parser.parse(raw, Method::get), Progress::done);
    const std::uint64_t before = allocations;
    for (int i = 0; i < 100; ++i) {
        parser.reset();
        ASSERT_EQ(parser.parse(raw, Method::get), Progress::done);
    }
    EXPECT_EQ(allocations, before);
}

TEST(Memory, OfALargeHeadIsGivenBack) {
    const std::string large = request_with_fields(100);
    const std::string small = request_with_fields(2);
    RequestParser parser({});
    ASSERT_EQ(parser.parse(large), Progress::done);
    parser.reset();
    const std::uint64_t before = allocations;
    ASSERT_EQ(parser.parse(small), Progress::done);
    EXPECT_EQ(allocations, before + 2) << "the room for a hundred fields was kept";
}

TEST(Memory, OfAnIdleParserIsSmall) {
    EXPECT_LE(sizeof(RequestParser), 256U);
    EXPECT_LE(sizeof(ResponseParser), 256U);
    EXPECT_LE(sizeof(BodyDecoder), 64U);
}

TEST(Memory, OfTheMessageMayMoveBetweenCalls) {
    const std::string raw = request_with_fields(20);
    RequestParser parser({});
    for (std::size_t size = 1; size < raw.size(); ++size)
        ASSERT_EQ(parser.parse(std::string(raw, 0, size)), Progress::more);
    ASSERT_EQ(parser.parse(std::string(raw)), Progress::done);
    const std::string moved = raw + "and more";
    ASSERT_EQ(parser.parse(moved), Progress::done);
    EXPECT_EQ(parser.head().target.data(), moved.data() + 4);
    EXPECT_EQ(parser.head().fields[19].name, "X-Field-19");
    EXPECT_EQ(parser.head().fields[19].value, "some value");
    EXPECT_EQ(parser.size(), raw.size());
}

}  // namespace
}  // namespace turnpike::http::test
