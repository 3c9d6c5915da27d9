// The curses that are active on each lane. All of them end when the faults of the plan end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/plan.h"

namespace turnpike::sim {

class Curses {
public:
    struct Period {
        Curse curse;
        std::uint32_t id = 0;  // of the stimulus
        Instant from;
        Instant until;
    };

    Curses(const Plan& plan, Instant opened);

    /// Returns the curse of this kind that now strikes the thing `key` on this lane, or nullptr if
    /// none does.
    [[nodiscard]] const Period* find(LaneId lane, CurseKind kind, Instant now,
                                     std::uint64_t key) const;
    [[nodiscard]] bool strikes(LaneId lane, CurseKind kind, Instant now, std::uint64_t key) const {
        return find(lane, kind, now, key) != nullptr;
    }

private:
    std::uint64_t seed_;
    std::vector<std::vector<Period>> of_lane_;
};

}  // namespace turnpike::sim
