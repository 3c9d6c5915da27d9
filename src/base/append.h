// Appends to a string that is reused. The string grows at most once, however many pieces there are.
//
//   append_all(out, name, ": ", value, "\r\n");
//   append_number(out, 1500);            // 1500
//   append_milliseconds(out, 1500us);    // 1.500
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace turnpike {

/// Holds the decimal digits of a number.
class Digits {
public:
    explicit Digits(std::uint64_t value) {
        do *--begin_ = static_cast<char>('0' + value % 10);
        while ((value /= 10) > 0);
    }

    Digits(const Digits&) = delete;
    Digits& operator=(const Digits&) = delete;

    [[nodiscard]] std::string_view view() const { return {begin_, text_.data() + text_.size()}; }

private:
    std::array<char, 20> text_;  // 2^64 - 1 has 20 digits
    char* begin_ = text_.data() + text_.size();
};

/// Takes a string literal, whose length the compiler knows.
template <std::size_t N>
constexpr std::string_view piece(const char (&literal)[N]) {
    return {literal, N - 1};
}
constexpr std::string_view piece(std::string_view text) { return text; }

/// Appends all pieces. No piece may be part of `out` itself.
template <class... Pieces>
void append_all(std::string& out, const Pieces&... pieces) {
    const std::size_t before = out.size();
    const std::size_t size = (before + ... + piece(pieces).size());
    // The lambda ignores its second argument: libstdc++ 12 passes the capacity, not the size.
    out.resize_and_overwrite(size, [&](char* bytes, std::size_t) {
        char* end = bytes + before;
        ((std::char_traits<char>::copy(end, piece(pieces).data(), piece(pieces).size()),
          end += piece(pieces).size()),
         ...);
        return size;
    });
}

inline void append_number(std::string& out, std::uint64_t value) {
    out.append(Digits(value).view());
}

/// Appends milliseconds with three decimals. A negative duration becomes 0.000.
inline void append_milliseconds(std::string& out, Duration duration) {
    const auto us = static_cast<std::uint64_t>(std::max(duration, Duration::zero()) / 1us);
    const Digits rest(1000 + us % 1000);  // the leading 1 keeps three digits; it is cut off
    append_all(out, Digits(us / 1000).view(), ".", rest.view().substr(1));
}

}  // namespace turnpike
