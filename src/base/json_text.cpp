#include "base/json_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace turnpike {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

/// What stands for an ASCII byte: 0 itself, 'u' \u00XX, any other letter \ and that letter.
/// DEL needs no escape, but terminals act on it.
constexpr std::array<char, 128> escapes = [] {
    std::array<char, 128> table{};
    for (std::size_t control = 0; control < 0x20; ++control) table[control] = 'u';
    table[0x7F] = 'u';
    table['"'] = '"';
    table['\\'] = '\\';
    table['\b'] = 'b';
    table['\f'] = 'f';
    table['\n'] = 'n';
    table['\r'] = 'r';
    table['\t'] = 't';
    return table;
}();

/// The well-formed sequences of more than one byte (RFC 3629, section 4), by their first byte.
struct Sequence {
    std::uint8_t first_low, first_high;
    std::uint8_t second_low, second_high;
    std::uint8_t size;
};
constexpr std::array<Sequence, 8> sequences = {{
    {0xC2, 0xDF, 0x80, 0xBF, 2},
    {0xE0, 0xE0, 0xA0, 0xBF, 3},  // no overlong forms
    {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3},  // no surrogates
    {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4},
    {0xF4, 0xF4, 0x80, 0x8F, 4},  // nothing beyond U+10FFFF
}};

std::uint8_t byte_at(std::string_view text, std::size_t index) {
    return static_cast<std::uint8_t>(text[index]);
}

bool starts_with(std::string_view text, const Sequence& sequence) {
    const std::uint8_t first = byte_at(text, 0);
    if (first < sequence.first_low || first > sequence.first_high) return false;
    if (text.size() < sequence.size) return false;
    const std::uint8_t second = byte_at(text, 1);
    if (second < sequence.second_low || second > sequence.second_high) return false;
    for (std::size_t i = 2; i < sequence.size; ++i)
        if ((byte_at(text, i) & 0xC0U) != 0x80) return false;
    return true;
}

/// Bytes of the well-formed sequence at the start of `text`; 0: there is none.
std::size_t sequence_size(std::string_view text) {
    for (const Sequence& sequence : sequences)
        if (starts_with(text, sequence)) return sequence.size;
    return 0;
}

/// Bytes at the start of `text` that stand for themselves.
std::size_t plain_size(std::string_view text) {
    std::size_t size = 0;
    while (size < text.size() && byte_at(text, size) < 0x80 && escapes[byte_at(text, size)] == 0)
        ++size;
    return size;
}

void append_escaped(std::string& out, std::uint8_t ascii) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '\\';
    out += escapes[ascii];
    if (escapes[ascii] != 'u') return;
    out += "00";
    out += digits[ascii >> 4U];
    out += digits[ascii & 0xFU];
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (;;) {
        const std::size_t plain = plain_size(text);
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) break;

        std::size_t taken = 1;
        if (const std::uint8_t next = byte_at(text, 0); next < 0x80) {
            append_escaped(out, next);
        } else if (const std::size_t size = sequence_size(text); size > 0) {
            out.append(text.data(), size);
            taken = size;
        } else {
            out += replacement;
        }
        text.remove_prefix(taken);
    }
    out += '"';
}

}  // namespace turnpike
