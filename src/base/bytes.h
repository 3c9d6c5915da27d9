// A number of bytes, as a type of its own, so that it can't be mixed up with other counts. Sums
// stop at the maximum, differences at zero.
#pragma once

#include <compare>
#include <cstdint>

namespace turnpike {

struct Bytes {
    std::uint64_t count = 0;

    friend constexpr auto operator<=>(Bytes, Bytes) = default;
    friend constexpr Bytes operator+(Bytes a, Bytes b) {
        const std::uint64_t sum = a.count + b.count;
        return {sum < a.count ? ~std::uint64_t{0} : sum};
    }
    friend constexpr Bytes operator-(Bytes a, Bytes b) {
        return {a.count < b.count ? 0 : a.count - b.count};
    }
};

inline constexpr Bytes kibibyte{1024};
inline constexpr Bytes mebibyte{1024 * 1024};
inline constexpr Bytes gibibyte{1024ULL * 1024 * 1024};

}  // namespace turnpike
