// Appending to a string that is kept for the next time: one look for room, however many pieces.
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

/// The digits of a number, for as long as this lives.
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
    std::array<char, 20> text_;  // 2^64 - 1 has 20
    char* begin_ = text_.data() + text_.size();
};

/// Words of ours have a length that the compiler knows.
template <std::size_t N>
constexpr std::string_view piece(const char (&literal)[N]) {
    return {literal, N - 1};
}
constexpr std::string_view piece(std::string_view text) { return text; }

/// No piece is of `out` itself.
template <class... Pieces>
void append_all(std::string& out, const Pieces&... pieces) {
    const std::size_t before = out.size();
    const std::size_t size = (before + ... + piece(pieces).size());
    out.resize_and_overwrite(size, [&](char* bytes, std::size_t) {  // in libstdc++ 12 all there is
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

/// To the microsecond; none is negative.
inline void append_milliseconds(std::string& out, Duration duration) {
    const auto us = static_cast<std::uint64_t>(std::max(duration, Duration::zero()) / 1us);
    const Digits rest(1000 + us % 1000);  // always three, after a 1 that nobody sees
    append_all(out, Digits(us / 1000).view(), ".", rest.view().substr(1));
}

}  // namespace turnpike
