#include "config/places.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace turnpike {
namespace {

constexpr std::size_t host_length_max = 253;  // the limit of DNS
constexpr std::size_t target_length_max = 2048;

using Problem = std::unexpected<std::string>;

bool consists_of(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

/// True for four numbers of at most 255. A name of digits and dots must pass this check, since a
/// resolver would guess what an incomplete address means.
bool is_ipv4(std::string_view text) {
    int parts = 0;
    while (true) {
        const std::size_t dot = text.find('.');
        const std::string_view part = text.substr(0, dot);
        const auto number = parse_port(part);
        if (!number || *number > 255 || part.size() > 3) return false;
        ++parts;
        if (dot == std::string_view::npos) return parts == 4;
        text.remove_prefix(dot + 1);
    }
}

bool is_host_name(std::string_view text) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    if (text.empty() || text.size() > host_length_max || !consists_of(text, allowed)) return false;
    if (text.front() == '.' || text.front() == '-') return false;
    return !consists_of(text, "0123456789.") || is_ipv4(text);
}

/// Checks only the characters. bind() or connect() will find an address that is wrong.
bool is_ipv6(std::string_view text) {
    return text.size() <= 45 && std::ranges::count(text, ':') >= 2 &&
           consists_of(text, "0123456789abcdef:.");
}

struct HostPort {
    std::string host;
    std::optional<std::uint16_t> port;
};

/// Splits "[::1]:8000" and "name:8000" before the colon of the port.
std::expected<HostPort, std::string> parse_host_port(std::string_view text) {
    HostPort result;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return Problem("has no closing bracket");
        result.host = lower(text.substr(1, end - 1));
        if (!is_ipv6(result.host)) return Problem("has no IPv6 address in its brackets");
        rest = text.substr(end + 1);
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (text.find(':', std::min(colon + 1, text.size())) != std::string_view::npos)
            return Problem("needs brackets around its IPv6 address, as in [::1]:8000");
        result.host = lower(text.substr(0, colon));
        if (!is_host_name(result.host)) return Problem("has no valid host");
        rest = text.substr(colon);
    }
    if (rest.empty()) return result;
    result.port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
    if (!result.port) return Problem("has no valid port after its host");
    return result;
}

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

bool is_method(std::string_view text) {
    return !text.empty() && text.size() <= 32 && consists_of(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
}

}  // namespace

std::expected<Address, std::string> parse_address(std::string_view text) {
    auto parsed = parse_host_port(text);
    if (!parsed) return Problem(std::move(parsed.error()));
    if (!parsed->port) return Problem("needs a port, as in 127.0.0.1:8000");
    return Address{std::move(parsed->host), *parsed->port};
}

std::expected<std::string, std::string> parse_host(std::string_view text) {
    if (std::string bare = lower(text); is_ipv6(bare)) return bare;
    auto parsed = parse_host_port(text);
    if (!parsed) return Problem(std::move(parsed.error()));
    if (parsed->port) return Problem("must be a host without a port");
    return std::move(parsed->host);
}

std::expected<std::string, std::string> parse_origin(std::string_view text) {
    const std::string origin = lower(text);
    const std::size_t mark = origin.find("://");
    if (mark == 0 || mark == std::string::npos ||
        !consists_of(std::string_view(origin).substr(0, mark),
                     "abcdefghijklmnopqrstuvwxyz0123456789+-."))
        return Problem("must be an origin such as https://example.org, without a path");
    const std::string_view authority = std::string_view(origin).substr(mark + 3);
    if (authority.find('/') != std::string_view::npos)
        return Problem("must have no path, not even a slash at its end");
    const auto parsed = parse_host_port(authority);
    if (!parsed) return Problem(parsed.error());
    return origin;
}

std::expected<WorkerUrl, std::string> parse_worker_url(std::string_view text) {
    constexpr std::string_view scheme = "http://";
    if (lower(text.substr(0, 8)) == "https://")
        return Problem("must begin with http://; workers are reached without TLS");
    if (lower(text.substr(0, scheme.size())) != scheme)
        return Problem("must be a URL such as http://127.0.0.1:8001");
    const std::string_view rest = text.substr(scheme.size());
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    std::string_view prefix = rest.substr(authority.size());
    if (prefix.find_first_of("?#") != std::string_view::npos)
        return Problem("must have no query and no fragment");
    if (authority.find('@') != std::string_view::npos) return Problem("must have no user name");
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    if (!prefix.empty())
        if (std::string problem = problem_with_target(prefix); !problem.empty())
            return Problem("has a path that " + problem);
    auto parsed = parse_host_port(authority);
    if (!parsed) return Problem(std::move(parsed.error()));
    if (parsed->port == 0) return Problem("must have a port of 1 to 65535");
    return WorkerUrl{.text = std::string(text),
                     .host = std::move(parsed->host),
                     .port = parsed->port.value_or(80),
                     .prefix = std::string(prefix)};
}

std::expected<RequestLine, std::string> parse_request_line(std::string_view text) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos || !is_method(text.substr(0, blank)))
        return Problem("must be a method and a path, such as POST /predict");
    const std::string_view target = text.substr(blank + 1);
    if (std::string problem = problem_with_target(target); !problem.empty())
        return Problem("has a path that " + problem);
    return RequestLine{std::string(text.substr(0, blank)), std::string(target)};
}

std::expected<AsideRule, std::string> parse_aside_rule(std::string_view text) {
    auto line = parse_request_line(text);
    if (!line) return Problem(std::move(line.error()));
    std::string_view exact = line->target;
    if (exact.find('?') != std::string_view::npos)
        return Problem("must have no query: the rule holds for every query");
    if (exact == "/-" || exact.starts_with("/-/"))
        return Problem("is one of Turnpike's own routes, which never reach a worker");
    if (exact.ends_with("/*")) exact.remove_suffix(1);
    if (exact.find('*') != std::string_view::npos)
        return Problem("may have a star only as its last part, as in GET /static/*");
    return AsideRule{std::move(line->method), std::move(line->target)};
}

std::string problem_with_target(std::string_view text) {
    if (!text.starts_with('/')) return "does not begin with a slash";
    if (text.size() > target_length_max) return "is longer than 2048 bytes";
    if (!std::ranges::all_of(text, is_visible)) return "has characters that must be escaped";
    if (text.find('#') != std::string_view::npos) return "has a fragment";
    return "";
}

}  // namespace turnpike
