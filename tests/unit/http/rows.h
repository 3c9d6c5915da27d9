// Tables of raw messages and their expected results. Each row is delivered whole, byte by byte
// and split at random, in a buffer that moves with every piece; the result must be the same.
//
// A result is written in words, one part per pipelined message:
//   requests    GET /path keep | POST / close continue "body" | fault bad_host
//   responses   200 keep "body" | 200 close "until the end" | 204 keep | fault truncated
// A message without a body has no quotes. An incomplete message at the end is `partial`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace turnpike::http::test {

using namespace std::string_literals;  // "..."s, because raw bytes may have NULs

struct Row {
    std::string name;
    std::string raw;
    std::string expected;
};

using Rows = std::vector<Row>;

void expect_requests(const Rows& rows, const Limits& limits = {});
void expect_responses(const Rows& rows, Method asked = Method::get, const Limits& limits = {});

/// Returns a GET with that target.
inline std::string get(std::string_view target) {
    return "GET "s.append(target).append(" HTTP/1.1\r\nHost: a\r\n\r\n");
}
/// Returns a GET with one more line among its fields.
inline std::string with_field(std::string_view line) {
    return "GET / HTTP/1.1\r\nHost: a\r\n"s.append(line).append("\r\n\r\n");
}
/// Returns a POST with those lines, each with its CRLF, and a body.
inline std::string post(std::string_view lines, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: a\r\n"s.append(lines).append("\r\n").append(body);
}
inline std::string chunked(std::string_view body) {
    return post("Transfer-Encoding: chunked\r\n", body);
}

}  // namespace turnpike::http::test
