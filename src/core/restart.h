// Restarts: paced by growing, jittered delays, given up after crash_limit crashes within
// crash_window.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "core/settings.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Lane;
struct Worker;

/// A lane's memory of its crashes and rests.
struct Restart {
    std::uint32_t delay_level = 0;  // how often the delay has doubled
    std::uint32_t rest_level = 0;
    Instant not_before = Instant::min();
    Reason why = Reason::none;                       // of the wait
    std::array<Instant, crash_limit_max> crashes{};  // a ring of the latest
    std::uint64_t crash_count = 0;
};

namespace restart {

/// The current worker of a lane that is on went down: decides when, and whether, the next one
/// starts.
void after(State& s, Lane& lane, const Worker& worker, Reason why);

/// How long a lane that fails everything rests; longer each time.
[[nodiscard]] Duration rest(State& s, Lane& lane);

/// A person asked for the lane, or new code is good: no grudge.
void clear_history(State& s, Lane& lane);

}  // namespace restart
}  // namespace turnpike
