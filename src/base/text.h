// A short string inside its owner: it allocates nothing and is copied like a number. It is made for
// records that outlive the request that they describe. Longer text is cut, but never inside a UTF-8
// character.
//
//   Text<8> method{"POST"};
//   method.view();  // "POST"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace turnpike {

template <std::size_t N>
class Text {
    static_assert(N <= 255, "the size is one byte");

public:
    static constexpr std::size_t size_max = N;

    constexpr Text() = default;
    constexpr explicit Text(std::string_view text) { assign(text); }

    constexpr void assign(std::string_view text) {
        const std::size_t size = fitting(text);
        text.copy(bytes_.data(), size);
        size_ = static_cast<std::uint8_t>(size);
    }

    [[nodiscard]] constexpr std::string_view view() const { return {bytes_.data(), size_}; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

    friend constexpr bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }

private:
    /// Returns how many bytes are kept. Text that is not UTF-8 is cut at N.
    static constexpr std::size_t fitting(std::string_view text) {
        if (text.size() <= N) return text.size();
        constexpr std::size_t back_max = N < 3 ? N : 3;  // continuation bytes of one character
        for (std::size_t back = 0; back <= back_max; ++back) {
            const auto next = static_cast<unsigned char>(text[N - back]);
            if ((next & 0xC0U) != 0x80) return N - back;
        }
        return N;
    }

    std::uint8_t size_ = 0;
    std::array<char, N> bytes_{};
};

}  // namespace turnpike
