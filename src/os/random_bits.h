// Unpredictable random bits from the kernel.
#pragma once

#include <sys/random.h>

#include <cstdint>

namespace turnpike {

[[nodiscard]] inline std::uint64_t random_bits() {
    std::uint64_t bits = 0;
    while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    }
    return bits;
}

}  // namespace turnpike
