#include "http/authority.h"

#include <cstddef>

#include "http/chars.h"

namespace turnpike::http {

namespace {

/// True for a decimal number up to `most`, with no more digits than `most` has.
bool is_number(std::string_view text, unsigned most, std::size_t digits_max) {
    if (text.empty() || text.size() > digits_max || !all(digit_char, text)) return false;
    unsigned value = 0;
    for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
    return value <= most;
}

bool is_ipv4(std::string_view text) {
    for (int dots = 0; dots < 3; ++dots) {
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos || !is_number(text.substr(0, dot), 255, 3)) return false;
        text.remove_prefix(dot + 1);
    }
    return is_number(text, 255, 3);
}

/// Returns how many 16-bit groups "a:b:c" has, or -1 if it is malformed. An IPv4 address at the end
/// counts as two groups.
int count_groups(std::string_view text) {
    if (text.empty()) return 0;
    for (int groups = 0; groups < 8; ++groups) {
        const std::size_t colon = text.find(':');
        const std::string_view group = text.substr(0, colon);
        if (colon == std::string_view::npos && is_ipv4(group)) return groups + 2;
        if (group.empty() || group.size() > 4 || !all(hex_char, group)) return -1;
        if (colon == std::string_view::npos) return groups + 1;
        text.remove_prefix(colon + 1);
    }
    return -1;
}

bool is_ipv6(std::string_view text) {
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) return count_groups(text) == 8;
    const std::string_view before = text.substr(0, gap);
    const int front = before.find('.') == std::string_view::npos ? count_groups(before) : -1;
    const int back = count_groups(text.substr(gap + 2));
    return front >= 0 && back >= 0 && front + back <= 7;
}

}  // namespace

bool is_authority(std::string_view text) {
    std::size_t host_end = 0;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return false;
        host_end = close + 1;
    } else {
        host_end = count_front(host_char, text);
        if (host_end == 0) return false;
    }
    const std::string_view port = text.substr(host_end);
    return port.empty() || (port.front() == ':' && is_number(port.substr(1), 65535, 5));
}

}  // namespace turnpike::http
