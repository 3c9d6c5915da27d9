// What all clients have in common: places in a queue, uploads, bytes. Below nine tenths of the whole
// everybody may take. Above that only a client that has less than its share may: the whole divided
// by the number of clients and one more, who is not here yet. The last twentieth is for clients that
// have nothing. So neither one client nor several take what the next one needs to begin.
#pragma once

#include <cstdint>

namespace turnpike {

struct Common {
    std::uint64_t whole = 0;
    std::uint64_t taken = 0;  // by all clients

    [[nodiscard]] constexpr bool has_room_for(std::uint64_t amount) const {
        return amount <= whole && taken <= whole - amount;
    }
    /// True if everybody may take this much more.
    [[nodiscard]] constexpr bool is_open_to_all(std::uint64_t amount) const {
        return has_room_for(amount) && (taken < whole - whole / 10 || amount == 0);
    }
    /// Returns the share of each of so many clients.
    [[nodiscard]] constexpr std::uint64_t share(std::uint64_t clients) const {
        const std::uint64_t sharing = clients + 1;
        return whole / sharing + (whole % sharing == 0 ? 0 : 1);
    }
    /// True if a client that has `own` may take this much more of the last tenth.
    [[nodiscard]] constexpr bool has_room_in_share(std::uint64_t amount, std::uint64_t own,
                                                   std::uint64_t clients) const {
        if (own == 0) return has_room_for(amount);
        const std::uint64_t for_newcomers = whole / 20 + (whole % 20 == 0 ? 0 : 1);
        return own < share(clients) && amount <= whole - for_newcomers &&
               taken <= whole - for_newcomers - amount;
    }
};

}  // namespace turnpike
