// Short words for the tables of scenarios.
#pragma once

#include "sim/scenario.h"

namespace turnpike::sim {

using enum Ending;
using Curses = Among<CurseKind>;
using Endings = Among<Ending>;
using Blows = Among<BlowKind>;
using Orders = Among<OrderKind>;
using C = CurseKind;
using B = BlowKind;
using O = OrderKind;

inline constexpr Endings every_ending(bad_input, fails, non_finite, out_of_memory, unhealthy,
                                      breaks_link, kills_worker, misbehaves, hangs, dumps_core,
                                      goes_stale, falls_short);
inline constexpr Blows every_blow(B::crash, B::crash_pool, B::misbehave, B::memory_freed);
inline constexpr Orders every_order(O::drain, O::resume, O::restart, O::restart_twice, O::prove);

constexpr Curses every_curse() {
    Curses all;
    all.bits = (1U << curse_kinds) - 1;
    return all;
}

}  // namespace turnpike::sim
