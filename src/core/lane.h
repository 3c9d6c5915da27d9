// A lane: one GPU (or a set of GPUs, or a CPU slot) and the worker on it. It has a current worker
// and at most one other: the next worker of a reload, or the previous one, which finishes its jobs.
// A lane is on, or off for a reason. What people see (`LaneState`) is derived from its mode and its
// workers.
#pragma once

#include <cstdint>

#include "core/queue.h"
#include "core/restart.h"
#include "core/timers.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Worker;
struct Pool;

enum class LaneMode : std::uint8_t { on, drained, failed, quarantined };

/// Where a lane stands in a reload `beside`, which starts a next worker on it. A lane that had failed
/// is *revived* for the reload: it is on only to try the new code, and fails again if the reload is
/// given up.
///
///   none ─▶ awaited ───▶ ended                          a lane that was on
///              ▲           ▲
///   none ─▶ reviving ─▶ revival_ended                   a lane that had failed
///
/// Upwards (▲): the lane no longer counts as revived, because a person restarted it, because it was turned
/// off, or because the new generation is good and the lane's own next worker ended.
/// `awaited` and `reviving` return to `none` when the next worker takes over. Every step returns to
/// `none` when the reload is over.
enum class NextStep : std::uint8_t {
    none,
    awaited,        // a next worker is to start, or runs
    ended,          // the next worker ended; the lane goes on without one
    reviving,       // like `awaited`, but the lane is on only for this worker and starts no other
    revival_ended,  // like `ended`, but the lane still starts nothing
};

struct Lane {
    LaneId id;
    PoolId pool;
    std::uint32_t number_in_pool = 0;
    LaneMode mode = LaneMode::on;
    Reason off_reason = Reason::none;
    Worker* current = nullptr;
    Worker* other = nullptr;
    Restart restart;
    bool is_memory_held = false;      // the GPU memory of its last worker is not free yet
    bool is_in_load_line = false;     // waits for its turn in State::load_line
    std::uint32_t proofs_failed = 0;  // in a row, also across restarts
    Instant last_job = Instant::min();
    Queue queue;  // jobs that ask for this lane
    Timer timer;  // the next start
    NextStep next_step = NextStep::none;

    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t starts = 0;  // counts current workers only

    bool is_touched = false;
    LaneState reported_state = LaneState::starting;
    Reason reported_reason = Reason::none;

    [[nodiscard]] bool is_next_awaited() const {
        return next_step == NextStep::awaited || next_step == NextStep::reviving;
    }
    [[nodiscard]] bool is_revived() const {
        return next_step == NextStep::reviving || next_step == NextStep::revival_ended;
    }
};

struct LaneStatus {
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;
    friend constexpr bool operator==(LaneStatus, LaneStatus) = default;
};

namespace lane {

[[nodiscard]] LaneStatus status_of(const State& s, const Lane& lane);

/// Reports the state of the lane if it differs from the last report.
void report(State& s, Lane& lane);

/// Returns the number of attempts on both workers, asides included.
[[nodiscard]] std::uint32_t aboard(const Lane& lane);
[[nodiscard]] std::uint32_t asides(const Lane& lane);
/// Returns the slots of the current worker, or the pool's number if there is none.
[[nodiscard]] std::uint32_t slots(const State& s, const Lane& lane);
[[nodiscard]] std::uint32_t slots_free(const State& s, const Lane& lane);

void turn_on(State& s, Lane& lane);

/// Sends and starts nothing more on the lane. A serving worker finishes its jobs, then stops.
void turn_off(State& s, Lane& lane, LaneMode mode, Reason why);

/// Takes every step that the facts allow now.
void step(State& s, Lane& lane);

/// Must be called when a worker of this lane begins to stop. Decides what the lane does next.
void worker_down(State& s, Lane& lane, Worker& worker, Reason why);

/// Ends the special case of a revived lane: giving up the reload no longer turns the lane off.
void forget_revival(Lane& lane);

void memory_freed(State& s, LaneId id);
void gpu_lost(State& s, LaneId id);

/// Ends a worker gently: a serving worker first finishes its jobs, any other is asked to stop now.
void retire(State& s, Worker& worker, Reason why);

}  // namespace lane
}  // namespace turnpike
