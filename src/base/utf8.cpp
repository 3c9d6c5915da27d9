#include "base/utf8.h"

#include <array>
#include <cstdint>

namespace turnpike {
namespace {

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

}  // namespace

std::size_t utf8_size(std::string_view text) {
    for (const Sequence& sequence : sequences)
        if (starts_with(text, sequence)) return sequence.size;
    return 0;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;
        const std::size_t size = is_ascii ? 1 : utf8_size(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

}  // namespace turnpike
