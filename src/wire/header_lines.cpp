#include "wire/header_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace turnpike::wire {

namespace {

consteval std::array<bool, 256> token_bytes() {
    std::array<bool, 256> table{};
    constexpr std::string_view letters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~";
    for (const char c : letters) table[static_cast<std::uint8_t>(c)] = true;
    return table;
}

consteval std::array<bool, 256> value_bytes() {
    std::array<bool, 256> table{};
    for (std::size_t c = 0; c < 256; ++c) table[c] = c == '\t' || (c >= ' ' && c != 0x7f);
    return table;
}

constexpr std::array<bool, 256> is_token_byte = token_bytes();
constexpr std::array<bool, 256> is_value_byte = value_bytes();

bool all_are(const std::array<bool, 256>& table, std::string_view text) {
    return std::ranges::all_of(text, [&](char c) { return table[static_cast<std::uint8_t>(c)]; });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool frames_the_answer(std::string_view name) {
    constexpr std::array<std::string_view, 3> framing{"content-length", "transfer-encoding",
                                                      "connection"};
    return std::ranges::any_of(
        framing, [&](std::string_view one) { return std::ranges::equal(name, one, {}, lower); });
}

/// Each line, cut at its first colon, is `wanted`.
template <class Wanted>
bool each_line(std::string_view fields, Wanted wanted) {
    while (!fields.empty()) {
        const std::size_t end = fields.find("\r\n");
        if (end == std::string_view::npos) return false;
        const std::string_view line = fields.substr(0, end);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) return false;
        if (!wanted(line.substr(0, colon), line.substr(colon + 1))) return false;
        fields.remove_prefix(end + 2);
    }
    return true;
}

}  // namespace

bool are_lines(std::string_view fields) {
    constexpr std::string_view nowhere("\r\n\0", 3);
    return each_line(fields, [&](std::string_view name, std::string_view value) {
        return name.find_first_of(nowhere) == std::string_view::npos &&
               value.find_first_of(nowhere) == std::string_view::npos;
    });
}

bool are_answer_fields(std::string_view fields) {
    return each_line(fields, [](std::string_view name, std::string_view value) {
        return all_are(is_token_byte, name) && all_are(is_value_byte, value) &&
               !frames_the_answer(name);
    });
}

bool is_field_value(std::string_view value) { return all_are(is_value_byte, value); }

}  // namespace turnpike::wire
