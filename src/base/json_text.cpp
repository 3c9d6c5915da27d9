#include "base/json_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/append.h"
#include "base/utf8.h"

namespace turnpike {
namespace {

/// How to write an ASCII byte: 0 means as it is, 'u' means \u00XX, any other letter means a
/// backslash and that letter. JSON allows DEL unescaped, but terminals act on it, so it is escaped.
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

std::uint8_t byte_at(std::string_view text, std::size_t index) {
    return static_cast<std::uint8_t>(text[index]);
}

/// Returns how many bytes at the start of `text` need no escape.
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

/// Appends `text`, escaped, without quotes.
void append_escaped(std::string& out, std::string_view text) {
    for (;;) {
        const std::size_t plain = plain_size(text);
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) return;

        std::size_t taken = 1;
        if (const std::uint8_t next = byte_at(text, 0); next < 0x80) {
            append_escaped(out, next);
        } else if (const std::size_t size = utf8_size(text); size > 0) {
            out.append(text.data(), size);
            taken = size;
        } else {
            out += utf8_replacement;
        }
        text.remove_prefix(taken);
    }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    if (plain_size(text) == text.size()) return append_all(out, "\"", text, "\"");
    out += '"';
    append_escaped(out, text);
    out += '"';
}

void append_json_string(std::string& out, std::span<const std::string_view> pieces) {
    out += '"';
    for (const std::string_view piece : pieces) append_escaped(out, piece);
    out += '"';
}

}  // namespace turnpike
