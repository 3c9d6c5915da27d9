#include "config/text.h"

#include <algorithm>
#include <cstddef>

#include "config/units.h"

namespace turnpike {
namespace {

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

}  // namespace

std::string in_quotes(std::string_view text) {
    constexpr std::size_t length_max = 80;
    std::string result = "\"";
    for (const char c : text.substr(0, length_max)) result += is_control(c) ? '?' : c;
    return result.append(text.size() > length_max ? "…\"" : "\"");
}

bool is_bare_key(std::string_view text) {
    constexpr std::string_view bare =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return !text.empty() && text.find_first_not_of(bare) == std::string_view::npos;
}

bool has_control_characters(std::string_view text) { return std::ranges::any_of(text, is_control); }

std::string problem_with_line(std::string_view text, Bytes max) {
    if (text.size() > max.count) return "is longer than " + text_of(max);
    if (has_control_characters(text)) return "has a line break or another control character";
    return "";
}

}  // namespace turnpike
