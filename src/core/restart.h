// Restarts: growing, jittered delays between the workers of a lane. After crash_limit crashes
// within crash_window the lane fails, and tries again every revive_every. A death under jobs is no
// crash of the lane, unless its case says so (core/blame.h).
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

/// The history of a lane's crashes and rests.
struct Restart {
    std::uint32_t delay_level = 0;  // how often the delay has doubled
    std::uint32_t rest_level = 0;
    std::uint32_t shortage_level = 0;  // like delay_level, for starts that a shortage prevented
    Instant not_before = Instant::min();
    Reason why = Reason::none;                       // why the lane waits
    std::array<Instant, crash_limit_max> crashes{};  // ring buffer of the latest crashes
    std::uint64_t crash_count = 0;
    bool is_on_parole = false;  // had failed, serves again: the next crash fails it at once
};

namespace restart {

/// Decides whether and when the next worker starts. Must be called when the current worker of a
/// lane that is on goes down.
void after(State& s, Lane& lane, const Worker& worker, Reason why);

/// Must be called when the current worker of a lane goes down. If it had served for restart_good_run,
/// the next delay is short again, and parole is over.
void note_good_run(State& s, Lane& lane, const Worker& worker);

/// Must be called when a shortage of the gate or of the machine prevented a start. Returns when the
/// lane may try again. Nothing is held against the lane.
[[nodiscard]] Instant after_shortage(State& s, Lane& lane);

/// Must be called when the worker of a failed lane that tries again goes down: it has failed again.
void try_ended(State& s, Lane& lane, Reason why);

/// Charges the lane with a death under jobs, because all of them were acquitted.
void charge(State& s, Lane& lane);

/// Takes a death out of the lane's row of deaths, if that row is not over: a job explains the death.
void take_out_of_row(Lane& lane, std::uint64_t row);

/// Must be called when a worker of the lane answered a job.
void job_answered(State& s, Lane& lane);

/// Returns how long a distrusted lane rests. Rests grow up to restart_delay_max.
[[nodiscard]] Duration rest(State& s, Lane& lane);

/// Forgets all crashes, delays and failed proofs of the lane. Called when a person restarts the
/// lane, and when new code is good.
void clear_history(State& s, Lane& lane);

}  // namespace restart
}  // namespace turnpike
