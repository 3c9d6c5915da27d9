// How long the gate waits for its clients, by what it waits for. Every wait of one kind lasts equally
// long, so each kind is a list in the order of its ends: waiting costs no search, no allocation and
// no system call, and one slow timer looks at the fronts.
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
    departure,  // whether the client left, when pipelined bytes hide it
    writing,    // room in the socket (rate_window)
    closing,    // the client's end of a connection that we ended
};
inline constexpr std::size_t wait_kinds = 7;

/// Thing has: Links<Thing> wait_links; Wait wait; Instant wait_until; void time_is_up().
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

    /// Tells everything whose time is up; it then waits for something else, or anew.
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

    /// Who has waited longest for this; nullptr: nobody.
    [[nodiscard]] Thing* longest_waiting(Wait kind) const { return lists_[index(kind)].front(); }

private:
    static constexpr std::size_t index(Wait kind) { return static_cast<std::size_t>(kind); }

    std::array<List<Thing, &Thing::wait_links>, wait_kinds> lists_{};
    std::array<Duration, wait_kinds> limits_{};
};

}  // namespace turnpike
