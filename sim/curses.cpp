// Whether a curse with less than 100 % strikes a thing depends only on the seed, the curse and the
// thing, so every call gives the same answer.
#include "sim/curses.h"

#include <algorithm>

#include "sim/chance.h"

namespace turnpike::sim {

Curses::Curses(const Plan& plan, Instant opened) : seed_(plan.seed), of_lane_(plan.lanes()) {
    for (const Stimulus& stimulus : plan.stimuli) {
        const auto* curse = std::get_if<Curse>(&stimulus.payload);
        if (curse == nullptr) continue;
        of_lane_[curse->lane.value].push_back(
            {.curse = *curse,
             .id = stimulus.id,
             .from = opened + stimulus.at,
             .until = opened + std::min(stimulus.at + curse->lasts, plan.calm_at)});
    }
}

const Curses::Period* Curses::find(LaneId lane, CurseKind kind, Instant now,
                                   std::uint64_t key) const {
    for (const Period& period : of_lane_[lane.value]) {
        if (period.curse.kind != kind || now < period.from || now >= period.until) continue;
        if (period.curse.percent >= 100) return &period;
        if (random_of(seed_, Topic::curse, period.id, key).chance(period.curse.percent))
            return &period;
    }
    return nullptr;
}

}  // namespace turnpike::sim
