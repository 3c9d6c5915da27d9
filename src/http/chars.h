// Which bytes are allowed where, by RFC 9110 and RFC 3986. One table, one lookup per byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace turnpike::http {

enum CharClass : std::uint8_t {
    token_char = 1,  // in methods and field names
    value_char = 2,  // in field values: HTAB, SP, VCHAR, obs-text
    path_char = 4,   // in a path; '%' is allowed only before two hex digits
    hex_char = 8,
    digit_char = 16,
    host_char = 32,   // in a host name: unreserved
    query_char = 64,  // in a query; also the characters that browsers don't escape
};

namespace chars {

consteval void mark(std::array<std::uint8_t, 256>& table, std::string_view which, int classes) {
    for (const char c : which) {
        auto& entry = table[static_cast<unsigned char>(c)];
        entry = static_cast<std::uint8_t>(entry | classes);
    }
}

consteval std::array<std::uint8_t, 256> make_table() {
    std::array<std::uint8_t, 256> table{};
    table['\t'] = value_char;
    for (std::size_t c = 0x20; c < 256; ++c)
        if (c != 0x7f) table[c] = value_char;
    const int everywhere = token_char | path_char | host_char | query_char;
    mark(table, "0123456789", everywhere | hex_char | digit_char);
    mark(table, "abcdefABCDEF", everywhere | hex_char);
    mark(table, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ-._~", everywhere);
    mark(table, "!$&'*+", token_char | path_char | query_char);
    mark(table, "%^`|", token_char | query_char);
    mark(table, "#", token_char);
    mark(table, "(),;=:@/?", path_char | query_char);
    mark(table, "[]{}\\", query_char);
    return table;
}

inline constexpr std::array<std::uint8_t, 256> table = make_table();

}  // namespace chars

constexpr bool is(CharClass wanted, char c) {
    return (chars::table[static_cast<unsigned char>(c)] & wanted) != 0;
}

/// Returns how many bytes at the front are of that class.
constexpr std::size_t count_front(CharClass wanted, std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && is(wanted, text[at])) ++at;
    return at;
}

constexpr bool all(CharClass wanted, std::string_view text) {
    return count_front(wanted, text) == text.size();
}

/// True if one of eight bytes is a control byte. A tab counts as one.
inline bool has_control(const char* eight) {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    std::uint64_t word = 0;
    std::memcpy(&word, eight, 8);
    const std::uint64_t del = word ^ (ones * 0x7f);
    const std::uint64_t controls = (word - ones * 0x20) & ~word;
    const std::uint64_t dels = (del - ones) & ~del;
    return ((controls | dels) & (ones * 0x80)) != 0;
}

/// The same as all(value_char, text), but eight bytes at a time, because values are most of a head.
inline bool is_value(std::string_view text) {
    if (text.size() < 8) return all(value_char, text);
    for (std::size_t at = 0; at + 8 <= text.size(); at += 8)
        if (has_control(text.data() + at)) return all(value_char, text.substr(at));
    const std::string_view last = text.substr(text.size() - 8);
    return !has_control(last.data()) || all(value_char, last);
}

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// Returns eight bytes with lower() applied to each.
inline std::uint64_t lower_eight(const char* eight) {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    std::uint64_t word = 0;
    std::memcpy(&word, eight, 8);
    const std::uint64_t low = word & (ones * 0x7f);
    const std::uint64_t from_a = low + ones * (0x80 - 'A');
    const std::uint64_t beyond_z = low + ones * (0x7f - 'Z');
    const std::uint64_t capitals = from_a & ~beyond_z & ~word & (ones * 0x80);
    return word | (capitals >> 2U);
}

/// Must be called only for a hex_char.
constexpr unsigned hex_value(char c) {
    return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(lower(c) - 'a' + 10);
}

}  // namespace turnpike::http
