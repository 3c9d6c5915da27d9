// Who may take how much of what all clients share.
#pragma once

#include <cstdint>

namespace turnpike::sim {

struct Claim {
    std::uint64_t whole = 0;
    std::uint64_t taken = 0;    // by all clients
    std::uint64_t own = 0;      // by the client that asks
    std::uint64_t clients = 1;  // that share
    std::uint64_t amount = 1;   // how much more it asks for
};

/// True if less than nine tenths of the whole are taken.
[[nodiscard]] constexpr bool is_below_line(const Claim& claim) {
    return claim.taken * 10 < claim.whole * 9;
}

/// One share is kept for a client that is not here yet, and the last twentieth for those that have
/// nothing.
[[nodiscard]] constexpr bool has_room(const Claim& claim) {
    if (claim.amount > claim.whole || claim.taken + claim.amount > claim.whole) return false;
    if (claim.amount == 0 || is_below_line(claim) || claim.own == 0) return true;
    const bool leaves_last_twentieth = (claim.taken + claim.amount) * 20 <= claim.whole * 19;
    return leaves_last_twentieth && claim.own * (claim.clients + 1) < claim.whole;
}

}  // namespace turnpike::sim
