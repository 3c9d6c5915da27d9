#include "wire/reader.h"

#include "base/utf8.h"
#include "wire/kind.h"

namespace turnpike::wire {

namespace {

/// Returns a lower bound for the number of ASCII bytes at the start. Reads eight bytes at once,
/// because nearly all text is ASCII.
std::size_t ascii_at_start(std::string_view text) {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::size_t count = 0;
    while (text.size() - count >= 8 &&
           (load_little_endian<std::uint64_t>(text.data() + count) & high_bits) == 0)
        count += 8;
    return count;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        text.remove_prefix(ascii_at_start(text));
        while (!text.empty() && static_cast<std::uint8_t>(text[0]) < 0x80) text.remove_prefix(1);
        if (text.empty()) return true;
        const std::size_t size = utf8_size(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

}  // namespace

std::uint16_t Reader::u16_within(std::uint16_t low, std::uint16_t high) {
    const std::uint16_t value = u16();
    require(value >= low && value <= high, Breach::value_out_of_bounds);
    return value;
}

std::uint16_t Reader::permille() {
    const std::uint16_t value = u16();
    require(value <= 1000 || value == permille_unknown, Breach::value_out_of_bounds);
    return value;
}

std::string_view Reader::text(std::size_t size) {
    const std::string_view taken = bytes(size);
    require(is_utf8(taken), Breach::not_utf8);
    return taken;
}

BodyPart Reader::body(std::uint8_t flags) {
    if ((flags & flag_descriptor) != 0)
        return {.in_descriptor = u64(),
                .is_in_descriptor = true};  // verdict() checks that nothing is left
    require(left_.size() <= inline_max, Breach::length_too_large);
    return {.bytes = rest()};
}

}  // namespace turnpike::wire
