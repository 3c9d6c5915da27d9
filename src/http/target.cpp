#include "http/target.h"

#include <algorithm>
#include <cstddef>

#include "http/authority.h"
#include "http/chars.h"
#include "http/fields.h"

namespace turnpike::http {

namespace {

bool is_escaped(std::string_view text) {
    std::size_t at = 0;
    for (;;) {
        at += count_front(path_char, text.substr(at));
        if (at == text.size()) return true;
        if (text[at] != '%' || at + 2 >= text.size()) return false;
        if (!is(hex_char, text[at + 1]) || !is(hex_char, text[at + 2])) return false;
        at += 3;
    }
}

/// Returns the byte that an escape at the front stands for, or 0 if there is none.
unsigned escaped_byte(std::string_view text) {
    if (text.size() < 3 || text[0] != '%') return 0;
    if (!is(hex_char, text[1]) || !is(hex_char, text[2])) return 0;
    return hex_value(text[1]) * 16 + hex_value(text[2]);
}

/// True if these are the first two bytes of a UTF-8 character that is longer than it must be.
bool is_overlong(unsigned first, unsigned second) {
    if (second < 0x80 || second > 0xbf) return false;
    switch (first) {
        case 0xc0:
        case 0xc1: return true;
        case 0xe0: return second < 0xa0;
        case 0xf0: return second < 0x90;
        case 0xf8: return second < 0x88;
        case 0xfc: return second < 0x84;
        default: return false;
    }
}

/// True if the text hides an ASCII character such as "/" in escapes that a lax decoder takes for it:
/// %c0%af. Any other escapes are the worker's to judge, since not all of them are UTF-8.
bool has_overlong_escape(std::string_view text) {
    for (std::size_t at = text.find('%'); at < text.size(); at = text.find('%', at + 1)) {
        const std::string_view rest = text.substr(at);
        if (rest.size() >= 6 && is_overlong(escaped_byte(rest), escaped_byte(rest.substr(3))))
            return true;
    }
    return false;
}

bool is_path(std::string_view text) {
    if (text.empty() || text.front() != '/') return false;
    const std::size_t query = std::min(text.find('?'), text.size());
    return is_escaped(text.substr(0, query)) && all(query_char, text.substr(query)) &&
           !has_overlong_escape(text);
}

}  // namespace

std::expected<Target, Fault> parse_target(std::string_view text, Method method) {
    constexpr std::string_view scheme = "http://";
    if (is_path(text)) return Target{.path = text};
    if (text == "*" && method == Method::options) return Target{.path = text};
    if (!is_named(text.substr(0, scheme.size()), scheme)) return std::unexpected(Fault::bad_target);
    const std::string_view rest = text.substr(scheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const Target target{.authority = rest.substr(0, end), .path = rest.substr(end)};
    if (!is_authority(target.authority)) return std::unexpected(Fault::bad_target);
    if (!target.path.empty() && !is_path(target.path)) return std::unexpected(Fault::bad_target);
    return target;
}

}  // namespace turnpike::http
