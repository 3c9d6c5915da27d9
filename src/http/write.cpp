#include "http/write.h"

#include <array>
#include <charconv>

#include "base/append.h"
#include "base/check.h"

namespace turnpike::http {

void append_request_line(std::string& out, Method method, std::string_view target) {
    append_all(out, name_of(method), " ", target, " HTTP/1.1\r\n");
}

void append_status_line(std::string& out, int status) {
    CHECK(status >= 100 && status <= 599);
    const Digits digits(static_cast<std::uint64_t>(status));
    append_all(out, "HTTP/1.1 ", digits.view(), " ", phrase_of(status), "\r\n");
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    append_all(out, name, ": ", value, "\r\n");
}

void append_field(std::string& out, std::string_view name, std::uint64_t value) {
    append_field(out, name, Digits(value).view());
}

void append_chunk_head(std::string& out, std::size_t size) {
    CHECK(size > 0);
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16);
    CHECK(error == std::errc{});
    append_all(out, std::string_view(digits.data(), end), "\r\n");
}

std::string_view phrase_of(int status) {
    switch (status) {
        case 100: return "Continue";
        case 101: return "Switching Protocols";
        case 102: return "Processing";
        case 103: return "Early Hints";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 203: return "Non-Authoritative Information";
        case 204: return "No Content";
        case 205: return "Reset Content";
        case 206: return "Partial Content";
        case 300: return "Multiple Choices";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 303: return "See Other";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 402: return "Payment Required";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 407: return "Proxy Authentication Required";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 411: return "Length Required";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 415: return "Unsupported Media Type";
        case 416: return "Range Not Satisfiable";
        case 417: return "Expectation Failed";
        case 421: return "Misdirected Request";
        case 422: return "Unprocessable Content";
        case 424: return "Failed Dependency";
        case 425: return "Too Early";
        case 426: return "Upgrade Required";
        case 428: return "Precondition Required";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        case 505: return "HTTP Version Not Supported";
        case 507: return "Insufficient Storage";
        default: return "";
    }
}

}  // namespace turnpike::http
