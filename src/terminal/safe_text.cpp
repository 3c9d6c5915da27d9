#include "terminal/safe_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace turnpike {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

/// Characters that are not visible themselves, but turn, break or hide the text around them.
constexpr std::array unseen{Range{0x80, 0x9F},     Range{0xAD, 0xAD},     Range{0x61C, 0x61C},
                            Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F},
                            Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE0FFF}};

/// East Asian scripts and pictures, which take two columns. Some characters in these ranges take
/// one only, but counting too many never makes a line too long.
constexpr std::array wide{Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x23E9, 0x23F3},
                          Range{0x25FD, 0x25FE},   Range{0x2600, 0x27BF},   Range{0x2B1B, 0x2B55},
                          Range{0x2E80, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
                          Range{0xF900, 0xFAFF},   Range{0xFE10, 0xFE6F},   Range{0xFF00, 0xFF60},
                          Range{0xFFE0, 0xFFE6},   Range{0x16FE0, 0x18DFF}, Range{0x1AFF0, 0x1B2FF},
                          Range{0x1F000, 0x1FAFF}, Range{0x20000, 0x3FFFD}};

bool is_in(const auto& ranges, char32_t character) {
    return std::ranges::any_of(ranges, [character](const Range& range) {
        return character >= range.first && character <= range.last;
    });
}

/// Must be given one character of valid UTF-8.
char32_t decoded(std::string_view bytes) {
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    char32_t character = first & (0xFFU >> (bytes.size() + 1));
    for (const char byte : bytes.substr(1))
        character = (character << 6U) | (static_cast<std::uint8_t>(byte) & 0x3FU);
    return character;
}

std::size_t size_of_first(std::string_view text) {
    return std::max(utf8_size(text), std::size_t{1});
}

std::size_t columns_of_character(std::string_view bytes) {
    return bytes.size() > 1 && is_in(wide, decoded(bytes)) ? 2 : 1;
}

}  // namespace

std::string sanitized(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::string_view bytes = text.substr(0, size_of_first(text));
        const bool is_shown =
            bytes.size() == 1 ? bytes[0] >= ' ' && bytes[0] <= '~' : !is_in(unseen, decoded(bytes));
        out += is_shown ? bytes : "?";
        text.remove_prefix(bytes.size());
    }
    return out;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const std::string_view bytes = text.substr(0, size_of_first(text));
        columns += columns_of_character(bytes);
        text.remove_prefix(bytes.size());
    }
    return columns;
}

std::string first_columns(std::string_view text, std::size_t columns) {
    std::size_t size = 0;
    while (size < text.size()) {
        const std::string_view rest = text.substr(size);
        const std::string_view bytes = rest.substr(0, size_of_first(rest));
        const std::size_t taken = columns_of_character(bytes);
        if (taken > columns) break;
        columns -= taken;
        size += bytes.size();
    }
    return std::string(text.substr(0, size));
}

std::string shortened(std::string_view text, std::size_t columns) {
    constexpr std::string_view mark = "...";
    if (columns_of(text) <= columns) return std::string(text);
    if (columns <= mark.size()) return first_columns(text, columns);
    return first_columns(text, columns - mark.size()) + std::string(mark);
}

std::string padded(std::string_view text, std::size_t columns) {
    const std::size_t taken = columns_of(text);
    return std::string(text) + std::string(columns > taken ? columns - taken : 0, ' ');
}

std::string ranges_text(const std::vector<std::size_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
        if (last > i) text += fmt::format("-{}", numbers[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace turnpike
