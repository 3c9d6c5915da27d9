// A seeded random generator (SplitMix64). The same seed gives the same draws with every compiler.
// Never draw twice in one argument list: compilers evaluate arguments in different orders.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace turnpike {

class Random {
public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15ULL;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
        return mixed ^ (mixed >> 31);
    }

    /// Returns a uniform number in [0, bound). The bias of the multiplication is below bound /
    /// 2^32.
    constexpr std::uint64_t below(std::uint64_t bound) {
        CHECK(bound > 0 && bound <= (std::uint64_t{1} << 32));
        return ((next() >> 32) * bound) >> 32;
    }

    /// Returns a uniform number in [low, high].
    constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
        CHECK(low <= high);
        const std::uint64_t span =
            static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + up_to(span));
    }

    /// Returns true in `percent` of 100 draws, on average.
    constexpr bool chance(unsigned percent) { return below(100) < percent; }

private:
    constexpr std::uint64_t up_to(std::uint64_t most) {
        if (most < (std::uint64_t{1} << 32)) return below(most + 1);
        return most + 1 == 0 ? next() : next() % (most + 1);
    }

    std::uint64_t state_;
};

}  // namespace turnpike
