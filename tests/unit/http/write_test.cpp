// Written messages have the intended text, and parse back to the same message.
#include "http/write.h"

#include <gtest/gtest.h>

#include "http/body_decoder.h"
#include "http/request_parser.h"
#include "http/response_parser.h"

namespace turnpike::http {
namespace {

TEST(Write, WritesTheLinesOfAHead) {
    std::string out = "before ";
    append_request_line(out, Method::delete_, "/a?b");
    append_field(out, "Name", "value");
    append_field(out, "Empty", "");
    append_field(out, "Content-Length", std::uint64_t{18446744073709551615U});
    append_field(out, "Zero", std::uint64_t{0});
    EXPECT_EQ(out,
              "before DELETE /a?b HTTP/1.1\r\nName: value\r\nEmpty: \r\n"
              "Content-Length: 18446744073709551615\r\nZero: 0\r\n");
}

TEST(Write, WritesStatusLinesWithTheirPhrases) {
    std::string out;
    append_status_line(out, 200);
    append_status_line(out, 431);
    append_status_line(out, 299);
    EXPECT_EQ(
        out,
        "HTTP/1.1 200 OK\r\nHTTP/1.1 431 Request Header Fields Too Large\r\nHTTP/1.1 299 \r\n");
}

TEST(Write, WritesChunkSizesInHex) {
    std::string out;
    append_chunk_head(out, 1);
    append_chunk_head(out, 255);
    append_chunk_head(out, 1 << 20);
    EXPECT_EQ(out, "1\r\nff\r\n100000\r\n");
}

TEST(WriteDeathTest, HasNoEmptyChunkBecauseThatIsTheLast) {
    std::string out;
    EXPECT_DEATH(append_chunk_head(out, 0), "CHECK failed");
    EXPECT_DEATH(append_status_line(out, 99), "CHECK failed");
}

TEST(Write, MakesRequestsThatParseBack) {
    for (const Method method : {Method::get, Method::head, Method::post, Method::put, Method::patch,
                                Method::delete_, Method::options}) {
        std::string out;
        append_request_line(out, method, "/x?y=%20");
        append_field(out, "Host", "a:1");
        append_field(out, "X", "b \xff\t c");
        append_field(out, "Content-Length", std::uint64_t{12});
        out += "\r\n";
        RequestParser parser({});
        ASSERT_EQ(parser.parse(out), Progress::done) << name_of(parser.fault());
        EXPECT_EQ(parser.size(), out.size());
        EXPECT_EQ(parser.head().method, method);
        EXPECT_EQ(parser.head().target, "/x?y=%20");
        EXPECT_EQ(parser.head().host, "a:1");
        EXPECT_EQ(parser.head().fields[1].value, "b \xff\t c");
        EXPECT_EQ(parser.head().length, 12U);
    }
}

TEST(Write, MakesEveryStatusParseBack) {
    ResponseParser parser({});
    for (int status = 100; status <= 599; ++status) {
        if (status == 101) continue;
        std::string out;
        append_status_line(out, status);
        append_field(out, "Transfer-Encoding", "chunked");
        out += "\r\n";
        parser.reset();
        ASSERT_EQ(parser.parse(out, Method::get), Progress::done) << status;
        EXPECT_EQ(parser.head().status, status);
    }
}

TEST(Write, MakesChunksThatDecodeBack) {
    const std::string data(300, 'x');
    std::string out;
    for (std::size_t size = 1; size <= data.size(); ++size) {
        append_chunk_head(out, size);
        out.append(data, 0, size).append("\r\n");
    }
    out += last_chunk;
    BodyDecoder body(Framing::chunked, 0, {});
    std::size_t decoded = 0;
    std::string_view left = out;
    Progress progress = Progress::more;
    while (progress == Progress::more && !left.empty()) {
        const auto step = body.next(left);
        decoded += step.data.size();
        left.remove_prefix(step.consumed);
        progress = step.progress;
    }
    EXPECT_EQ(progress, Progress::done);
    EXPECT_EQ(left, "");
    EXPECT_EQ(decoded, 300U * 301 / 2);
}

TEST(Fault, HasAStatusASentenceAndAName) {
    for (int value = 0; value <= static_cast<int>(Fault::too_many_interims); ++value) {
        const auto fault = static_cast<Fault>(value);
        EXPECT_NE(name_of(fault), "?") << value;
        EXPECT_TRUE(sentence_of(fault).ends_with(".")) << name_of(fault);
        EXPECT_NE(phrase_of(status_of(fault)), "") << name_of(fault);
    }
    EXPECT_EQ(status_of(Fault::bad_host), 400);
    EXPECT_EQ(status_of(Fault::refused_method), 405);
    EXPECT_EQ(status_of(Fault::target_too_long), 414);
    EXPECT_EQ(status_of(Fault::bad_expect), 417);
    EXPECT_EQ(status_of(Fault::head_too_large), 431);
    EXPECT_EQ(status_of(Fault::websocket), 501);
    EXPECT_EQ(status_of(Fault::unknown_method), 501);
    EXPECT_EQ(status_of(Fault::bad_version), 505);
}

}  // namespace
}  // namespace turnpike::http
