// Reads a number from the start of a text that a system file or a library wrote.
#pragma once

#include <charconv>
#include <string_view>

namespace turnpike {

/// Returns the number at the start of the text and ignores what follows it. Returns zero if the
/// text does not start with a number that fits.
template <class Number>
[[nodiscard]] Number leading_number(std::string_view text, int base = 10) {
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

}  // namespace turnpike
