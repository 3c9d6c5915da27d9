#include "wire/header_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
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

bool consists_of(const std::array<bool, 256>& table, std::string_view text) {
    return std::ranges::all_of(text, [&](char c) { return table[static_cast<std::uint8_t>(c)]; });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_named(std::string_view name, std::string_view in_lower_case) {
    return std::ranges::equal(name, in_lower_case, {}, lower);
}

bool is_content_length(std::string_view name) { return is_named(name, "content-length"); }

bool is_framing_field(std::string_view name) {
    return is_content_length(name) || is_named(name, "transfer-encoding") ||
           is_named(name, "connection");
}

bool is_valid_field(std::string_view name, std::string_view value) {
    return consists_of(is_token_byte, name) && consists_of(is_value_byte, value);
}

/// Parses digits that may have spaces and tabs around them.
std::optional<std::uint64_t> number_in(std::string_view value) {
    constexpr std::string_view blanks = " \t";
    value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
    value.remove_suffix(value.size() - (value.find_last_not_of(blanks) + 1));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return number;
}

/// True if each line has a colon and a CRLF, and `wanted` accepts its name and its value.
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
        return is_valid_field(name, value) && !is_framing_field(name);
    });
}

bool are_stream_fields(std::string_view fields) {
    int lengths = 0;
    return each_line(fields, [&](std::string_view name, std::string_view value) {
        if (is_content_length(name)) return ++lengths == 1 && number_in(value).has_value();
        return is_valid_field(name, value) && !is_framing_field(name);
    });
}

std::optional<std::uint64_t> announced_length(std::string_view fields) {
    std::optional<std::uint64_t> length;
    each_line(fields, [&](std::string_view name, std::string_view value) {
        if (is_content_length(name)) length = number_in(value);
        return !length;
    });
    return length;
}

bool is_field_value(std::string_view value) { return consists_of(is_value_byte, value); }

}  // namespace turnpike::wire
