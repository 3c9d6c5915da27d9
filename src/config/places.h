// Where things are, as people write it: addresses, URLs, paths. A problem is half a sentence that
// follows the text it is about.
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

/// host:port; the port may be 0.
[[nodiscard]] std::expected<Address, std::string> parse_address(std::string_view);

/// A name or an IP address, with or without brackets, without a port. In lower case.
[[nodiscard]] std::expected<std::string, std::string> parse_host(std::string_view);

/// scheme://host[:port], in lower case.
[[nodiscard]] std::expected<std::string, std::string> parse_origin(std::string_view);

[[nodiscard]] std::expected<WorkerUrl, std::string> parse_worker_url(std::string_view);

/// "POST /predict?x=1"
[[nodiscard]] std::expected<RequestLine, std::string> parse_request_line(std::string_view);

[[nodiscard]] std::expected<AsideRule, std::string> parse_aside_rule(std::string_view);

/// What is wrong with a path and its query, as they stand in a request's first line; "": nothing.
[[nodiscard]] std::string problem_with_target(std::string_view);

}  // namespace turnpike
