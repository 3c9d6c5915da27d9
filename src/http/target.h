// Request targets: origin-form, absolute-form of http, or "*" with OPTIONS.
#pragma once

#include <expected>
#include <string_view>

#include "http/fault.h"
#include "http/message.h"

namespace turnpike::http {

struct Target {
    std::string_view authority;  // of the absolute-form
    std::string_view path;       // with the query; empty: the absolute-form had none
};

/// In the path exactly the characters of RFC 3986, and escapes of two hex digits. In the query, which is
/// for the worker alone to read, also what browsers leave as it is: []{}|^`\ and any '%'.
/// "http://host?query" is refused: it has no path that could be passed on as it is.
std::expected<Target, Fault> parse_target(std::string_view text, Method method);

}  // namespace turnpike::http
