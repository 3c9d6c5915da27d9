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

enum class LaneMode : std::uint8_t {
    on,
    drained,
    failed,
    trying,  // failed, and a worker is tried once more; if it serves, the lane is on
    quarantined,
};

/// A job that must ride alone, and for which a lane is reserved.
struct LoneRide {
    JobId job;          // none if the lane is not reserved
    AttemptId attempt;  // none while the job waits for the lane to become empty
};

/// Where a lane stands in a reload `beside`, which starts a next worker on it. A lane that had
/// failed or given wrong answers is *revived* for the reload: it is on only to try the new code, and
/// is off again if the reload is given up.
///
///   none ─▶ awaited ───▶ ended                          a lane that was on
///              ▲           ▲
///   none ─▶ reviving ─▶ revival_ended                   a lane that is revived
///
/// Upwards (▲): the lane no longer counts as revived, because a person restarted it, because it was
/// turned off, or because the new generation is good and the lane's own next worker ended.
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
    Queue queue;                     // jobs that ask for this lane
    std::uint32_t arriving_for = 0;  // jobs that ask for it, asides not counted
    std::uint32_t queued_for = 0;    // likewise; also those that must ride alone
    LoneRide lone_ride;
    Instant next_not_before = Instant::min();  // the start of `next`, after one that failed
    Timer timer;                               // the next start
    Instant next_try_at = never;               // if it has failed
    NextStep next_step = NextStep::none;
    LaneMode revived_from = LaneMode::failed;  // how it was off before a reload turned it on
    Reason revived_reason = Reason::none;
    Generation served;                     // the latest generation that has served here
    Instant last_answer = Instant::min();  // the latest job that a worker answered
    std::uint64_t row = 0;                 // counts its rows of deaths without an answer
    std::uint32_t deaths_in_row = 0;       // in the latest row, explained ones not counted
    Instant row_began;                     // the first of these deaths

    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t starts = 0;  // counts current workers only

    bool is_touched = false;
    LaneState reported_state = LaneState::starting;
    Reason reported_reason = Reason::none;
    Instant reported_next_try = never;

    [[nodiscard]] bool is_reserved() const { return !lone_ride.job.is_none(); }
    [[nodiscard]] bool has_failed() const {
        return mode == LaneMode::failed || mode == LaneMode::trying;
    }
    [[nodiscard]] bool is_off_for_wrong_answers() const {
        return mode == LaneMode::quarantined &&
               (off_reason == Reason::proof_failed || off_reason == Reason::disagrees);
    }

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

/// Returns when a failed lane tries again, from now on. Zero if the lane has not failed, or if its
/// try has begun or only waits for something else to end.
[[nodiscard]] Duration next_try(const Lane& lane, Instant now);

/// Returns the number of attempts on both workers, asides included.
[[nodiscard]] std::uint32_t aboard(const Lane& lane);
[[nodiscard]] std::uint32_t asides(const Lane& lane);
/// Returns the slots of the current worker, or the pool's number if there is none.
[[nodiscard]] std::uint32_t slots(const State& s, const Lane& lane);
[[nodiscard]] std::uint32_t slots_free(const State& s, const Lane& lane);

void turn_on(State& s, Lane& lane);

/// Notes that a worker serves on the lane. A lane that was trying again is on.
void worker_serves(State& s, Lane& lane, const Worker& worker);

/// Ends the try of a failed lane: it has failed as before.
void stop_trying(State& s, Lane& lane);

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
