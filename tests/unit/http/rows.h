// Tables of raw messages and what must become of them. Each row is delivered whole, byte by byte
// and split at random, in a buffer that moves with every piece; the result must be the same.
//
// A result is told in words, one part per pipelined message:
//   requests    GET /path keep | POST / close continue "body" | fault bad_host
//   responses   200 keep "body" | 200 close "until the end" | 204 keep | fault truncated
// A message without a body has no quotes; what is left when the bytes end is `partial`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace turnpike::http::test {

using namespace std::string_literals;  // raw bytes may have NULs: "..."s

struct Row {
    std::string name;
    std::string raw;
    std::string expected;
};

using Rows = std::vector<Row>;

void expect_requests(const Rows& rows, const Limits& limits = {});
void expect_responses(const Rows& rows, Method asked = Method::get, const Limits& limits = {});

/// A GET with that target; a GET with one more line among its fields.
inline std::string get(std::string_view target) {
    return "GET "s.append(target).append(" HTTP/1.1\r\nHost: a\r\n\r\n");
}
inline std::string with_field(std::string_view line) {
    return "GET / HTTP/1.1\r\nHost: a\r\n"s.append(line).append("\r\n\r\n");
}
/// A POST with those lines (each with its CRLF), and a body.
inline std::string post(std::string_view lines, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: a\r\n"s.append(lines).append("\r\n").append(body);
}
inline std::string chunked(std::string_view body) {
    return post("Transfer-Encoding: chunked\r\n", body);
}

}  // namespace turnpike::http::test
