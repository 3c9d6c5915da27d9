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

bool is_path(std::string_view text) {
    if (text.empty() || text.front() != '/') return false;
    const std::size_t query = std::min(text.find('?'), text.size());
    return is_escaped(text.substr(0, query)) && all(query_char, text.substr(query));
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
