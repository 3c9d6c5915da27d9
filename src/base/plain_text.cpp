#include "base/plain_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace turnpike {
namespace {

constexpr char escape = '\x1b';

bool is_between(char c, char low, char high) { return c >= low && c <= high; }

bool is_plain(char c) { return is_between(c, ' ', '~') || c == '\t'; }

std::size_t plain_size(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

/// Returns the size of `ESC [ parameters final`.
std::size_t control_sequence_size(std::string_view text) {
    std::size_t size = 2;
    while (size < text.size() && is_between(text[size], ' ', '?')) ++size;
    return size < text.size() && is_between(text[size], '@', '~') ? size + 1 : size;
}

/// Returns the size of a sequence with a string, such as a window title: up to BEL or `ESC \`.
std::size_t string_sequence_size(std::string_view text) {
    const std::size_t end = text.find_first_of("\a\x1b", 2);
    if (end == std::string_view::npos) return text.size();
    return text.substr(end).starts_with("\x1b\\") ? end + 2 : end + (text[end] == '\a' ? 1 : 0);
}

/// Returns the size of the escape sequence (ECMA-48) at the start of `text`. If the sequence is cut
/// off, returns the size of the part that is there.
std::size_t escape_size(std::string_view text) {
    if (text.size() == 1) return 1;
    if (text[1] == '[') return control_sequence_size(text);
    if (std::string_view("]PX^_").contains(text[1])) return string_sequence_size(text);
    std::size_t size = 1;
    while (size < text.size() && is_between(text[size], ' ', '/')) ++size;
    return size < text.size() && is_between(text[size], '0', '~') ? size + 1 : size;
}

/// True for U+0080 … U+009F. Some terminals treat U+009B like `ESC [`.
bool is_control(std::string_view character) {
    return character[0] == '\xC2' && static_cast<std::uint8_t>(character[1]) < 0xA0;
}

/// Removes the special character or sequence at the start of `text`; appends what may be shown.
void take_special(std::string& out, std::string_view& text) {
    std::size_t taken = 1;
    if (text[0] == escape) {
        taken = escape_size(text);
    } else if (const std::size_t size = utf8_size(text); size > 0) {
        taken = size;
        if (!is_control(text.substr(0, size))) out.append(text.substr(0, size));
    } else if ((static_cast<std::uint8_t>(text[0]) & 0x80U) != 0) {
        out.append(utf8_replacement);
    }
    text.remove_prefix(taken);
}

}  // namespace

void append_plain(std::string& out, std::string_view text) {
    for (;;) {
        const std::size_t plain = plain_size(text);
        out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) return;
        take_special(out, text);
    }
}

}  // namespace turnpike
