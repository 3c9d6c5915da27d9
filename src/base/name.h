// The rule for names of pools and of running gates. They appear in URLs, metrics and file names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace turnpike {

inline constexpr std::size_t name_length_max = 64;
inline constexpr std::string_view name_rule =
    "1 to 64 of a-z, 0-9, dot, underscore and hyphen, the first of them no dot";

[[nodiscard]] constexpr bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= name_length_max && text.front() != '.' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                      c == '-';
           });
}

}  // namespace turnpike
