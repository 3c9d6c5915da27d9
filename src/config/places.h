// Parses addresses, URLs and paths as people write them. An error message is the second half of a
// sentence: it follows the text that it is about.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/config.h"

namespace turnpike {

struct RequestLine {
    std::string method;
    std::string target;  // a path, perhaps with a query
};

/// Parses host:port. The port may be 0.
[[nodiscard]] std::expected<Address, std::string> parse_address(std::string_view);

/// Parses a name or an IP address, with or without brackets, without a port. Returns lower case.
[[nodiscard]] std::expected<std::string, std::string> parse_host(std::string_view);

/// Parses scheme://host[:port]. Returns lower case.
[[nodiscard]] std::expected<std::string, std::string> parse_origin(std::string_view);

[[nodiscard]] std::expected<WorkerUrl, std::string> parse_worker_url(std::string_view);

/// Parses a line such as "POST /predict?x=1".
[[nodiscard]] std::expected<RequestLine, std::string> parse_request_line(std::string_view);

[[nodiscard]] std::expected<AsideRule, std::string> parse_aside_rule(std::string_view);

/// Returns what is wrong with a path and its query in the first line of a request, or "" if nothing
/// is.
[[nodiscard]] std::string problem_with_target(std::string_view);

}  // namespace turnpike
