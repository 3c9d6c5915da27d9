// Comma-separated lists in field values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace turnpike::http {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Removes the first element from the list and returns it without the blanks around it. It may be
/// empty.
constexpr std::string_view cut_element(std::string_view& list) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view element = trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    return element;
}

}  // namespace turnpike::http
