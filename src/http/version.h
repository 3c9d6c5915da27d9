// The version in a request or status line.
#pragma once

#include <expected>
#include <string_view>

#include "http/chars.h"
#include "http/fault.h"
#include "http/message.h"

namespace turnpike::http {

/// `malformed` is the fault to return if the text is not "HTTP/" DIGIT "." DIGIT.
inline std::expected<Version, Fault> parse_version(std::string_view text, Fault malformed) {
    if (text == "HTTP/1.1") return Version::http_1_1;
    if (text == "HTTP/1.0") return Version::http_1_0;
    const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") && text[6] == '.' &&
                             is(digit_char, text[5]) && is(digit_char, text[7]);
    return std::unexpected(well_formed ? Fault::bad_version : malformed);
}

}  // namespace turnpike::http
