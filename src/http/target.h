// Request targets: origin-form, absolute-form with http://, or "*" with OPTIONS.
#pragma once

#include <expected>
#include <string_view>

#include "http/fault.h"
#include "http/message.h"

namespace turnpike::http {

struct Target {
    std::string_view authority;  // from the absolute-form
    std::string_view path;       // with the query; empty if the absolute-form has none
};

/// The path may have exactly the characters of RFC 3986, and escapes of two hex digits. Only the
/// worker reads the query, so the query may also have the characters that browsers don't escape,
/// which are []{}|^`\ and any '%'. "http://host?query" is refused, because it has no path that we
/// could pass on unchanged.
std::expected<Target, Fault> parse_target(std::string_view text, Method method);

}  // namespace turnpike::http
