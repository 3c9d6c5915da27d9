// Parses the text of a request as the gate does.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "http/request_parser.h"

namespace turnpike {

class ParsedRequest {
public:
    /// `lines` are the request line and the fields, each with its CRLF.
    explicit ParsedRequest(std::string_view lines) : text_(std::string(lines) + "\r\n") {
        EXPECT_EQ(parser_.parse(text_), http::Progress::done)
            << text_ << http::sentence_of(parser_.fault());
    }
    ParsedRequest(const ParsedRequest&) = delete;
    ParsedRequest& operator=(const ParsedRequest&) = delete;

    [[nodiscard]] const http::RequestHead& head() const { return parser_.head(); }

private:
    std::string text_;
    http::RequestParser parser_{http::Limits{}};
};

/// Returns a GET with a valid Host and these fields.
inline std::string get(std::string_view fields = {}, std::string_view target = "/") {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost:8000\r\n" +
           std::string(fields);
}

}  // namespace turnpike
