// Visits the bits of a number that are set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace turnpike {

/// Calls `visit` with the position of each bit that is set, the lowest first.
constexpr void each_bit(std::uint32_t bits, auto&& visit) {
    for (; bits != 0; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

}  // namespace turnpike
