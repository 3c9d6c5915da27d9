#include "base/span_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/append.h"

namespace turnpike {

namespace {

std::string with_decimals(double number, int decimals, std::string_view unit) {
    std::array<char, 32> digits;  // callers pass numbers below 1000
    char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                              std::chars_format::fixed, decimals)
                    .ptr;
    return std::string(digits.data(), end).append(unit);
}

std::string in_two_units(std::uint64_t large, std::string_view unit, std::uint64_t small,
                         std::string_view smaller_unit) {
    std::string text;
    append_all(text, Digits(large).view(), unit, Digits(small).view(), smaller_unit);
    return text;
}

}  // namespace

std::string span_text(double seconds) {
    if (!(seconds > 0)) return "0 s";
    if (seconds < 0.9995) return with_decimals(seconds * 1e3, seconds < 0.00995 ? 1 : 0, " ms");
    if (seconds < 59.95) return with_decimals(seconds, 1, " s");
    const auto whole = static_cast<std::uint64_t>(std::min(seconds, 1e15) + 0.5);
    if (whole < 3600) return in_two_units(whole / 60, " min ", whole % 60, " s");
    if (whole < 86400) return in_two_units(whole / 3600, " h ", whole / 60 % 60, " min");
    return in_two_units(whole / 86400, " d ", whole / 3600 % 24, " h");
}

std::string span_text(Duration time) {
    return span_text(std::chrono::duration<double>(time).count());
}

}  // namespace turnpike
