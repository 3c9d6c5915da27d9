// Whether a curse with less than 100 % strikes a thing is the thing's own luck, the same each time
// it is asked.
#include "sim/curses.h"

#include <algorithm>

#include "sim/chance.h"

namespace turnpike::sim {

Curses::Curses(const Plan& plan, Instant opened) : seed_(plan.seed), of_lane_(plan.lanes()) {
    for (const Stimulus& stimulus : plan.stimuli) {
        const auto* curse = std::get_if<Curse>(&stimulus.deed);
        if (curse == nullptr) continue;
        of_lane_[curse->lane.value].push_back(
            {.curse = *curse,
             .id = stimulus.id,
             .from = opened + stimulus.at,
             .until = opened + std::min(stimulus.at + curse->lasts, plan.calm_at)});
    }
}

const Curses::Cast* Curses::find(LaneId lane, CurseKind kind, Instant now,
                                 std::uint64_t key) const {
    for (const Cast& cast : of_lane_[lane.value]) {
        if (cast.curse.kind != kind || now < cast.from || now >= cast.until) continue;
        if (cast.curse.percent >= 100) return &cast;
        if (random_of(seed_, Topic::curse, cast.id, key).chance(cast.curse.percent)) return &cast;
    }
    return nullptr;
}

}  // namespace turnpike::sim
