// How long the gate waits for its clients. All waits of one kind last equally long, so each kind
// has a list in the order in which its waits end. Starting a wait needs no search, no allocation
// and no system call, and one slow timer checks the front of each list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "base/time.h"

namespace turnpike {

enum class Wait : std::uint8_t {
    nothing,
    request,    // the first byte of a request (idle_timeout)
    head,       // the rest of its head (head_timeout)
    body,       // more of its body (rate_window)
    departure,  // the next check whether the client left; needed while its input is not read
    writing,    // room in the socket; the next look at how fast the client reads
    draining,   // the client to take what is in the send buffer
    closing,    // the client to close its side, after we closed ours
};
inline constexpr std::size_t wait_kinds = 8;

/// A Thing needs these members: Links<Thing> wait_links; Wait wait; Instant wait_until; void
/// time_is_up().
template <class Thing>
class Timeouts {
public:
    void set(Wait kind, Duration limit) { limits_[index(kind)] = limit; }

    void wait_for(Thing& thing, Wait kind, Instant now) {
        if (thing.wait != Wait::nothing) lists_[index(thing.wait)].remove(thing);
        thing.wait = kind;
        if (kind == Wait::nothing) return;
        thing.wait_until = later(now, limits_[index(kind)]);
        lists_[index(kind)].push_back(thing);
    }

    /// Calls time_is_up() on every thing whose wait is over. That call may start another wait.
    void expire(Instant now) {
        for (auto& list : lists_) {
            for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
                Thing& first = *list.front();
                if (first.wait_until > now) break;
                wait_for(first, Wait::nothing, now);
                first.time_is_up();
            }
        }
    }

    /// Returns the thing that has been in this kind of wait longest, or nullptr if none is.
    [[nodiscard]] Thing* longest_waiting(Wait kind) const { return lists_[index(kind)].front(); }

private:
    static constexpr std::size_t index(Wait kind) { return static_cast<std::size_t>(kind); }

    std::array<List<Thing, &Thing::wait_links>, wait_kinds> lists_{};
    std::array<Duration, wait_kinds> limits_{};
};

}  // namespace turnpike
