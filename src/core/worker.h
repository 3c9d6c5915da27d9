// A worker: one process with the user's model on a lane.
//
//   starting ─▶ loading ─▶ proving ─▶ serving ─▶ stopping ─▶ (gone: it leaves the slab)
//                              ▲         │           ▲
//                              └─────────┘           │ from every state
//
// A serving worker may be held: there is a reason why it takes no jobs for now.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/list.h"
#include "base/time.h"
#include "core/attempt.h"
#include "core/timers.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct WorkerReady;

enum class WorkerState : std::uint8_t { starting, loading, proving, serving, stopping };

/// Why a serving worker takes no jobs; a later one outranks an earlier one.
enum class Hold : std::uint8_t {
    none,
    prove,   // a proof comes first, when nothing is aboard
    rest,    // it fails everything; a while of nothing, then the proof, then probation
    probe,   // a link broke; an answered probe lifts it, then the proof
    retire,  // it finishes what is aboard, then stops
};

enum class Role : std::uint8_t {
    current,  // takes the lane's jobs
    next,     // of a reload, not yet switched to
    leaving,  // was current; finishes its jobs
};

enum class Stop : std::uint8_t {
    ask,     // StopWorker, KillWorker after stop_grace
    kill,    // KillWorker
    exited,  // it is dead already; KillWorker for what it left behind
    gone,    // and it left nothing
};

struct Worker {
    WorkerId id;
    LaneId lane;
    Generation generation;
    Role role = Role::current;
    WorkerState state = WorkerState::starting;
    Hold hold = Hold::none;
    Reason why = Reason::none;  // of the hold, or of stopping

    List<Attempt, &Attempt::links> aboard;
    std::uint32_t asides = 0;
    std::uint32_t overdue = 0;
    std::vector<std::uint32_t> slot_loads;  // attempts in each slot
    std::vector<std::uint32_t> slots_idle;
    std::uint32_t batch = 1;  // jobs that may share a slot
    Timer timer;              // of its state
    Instant serving_since = never;
    bool was_killed = false;
    bool has_survived_kill = false;  // survived kill_patience

    // health
    Timer probe_timer;
    std::uint32_t probe = 0;  // number of the latest
    Instant probe_sent = never;
    std::uint32_t probe_failures = 0;
    bool is_probe_pending = false;
    bool does_probe_count = false;  // nothing has been aboard since it was sent
    bool is_doubted = false;        // a link broke, and no probe was answered since

    // proof
    bool has_proof = false;   // its pool has one, or it brought an example
    std::uint32_t proof = 0;  // number of the latest
    Instant proof_due = never;
    std::optional<std::uint32_t> vote;

    // trust
    std::uint32_t fail_streak = 0;
    bool is_on_probation = false;
    Instant rests_until = Instant::min();
    Instant distrusted_at = Instant::min();
    bool did_latest_job_fail = false;

    [[nodiscard]] std::uint32_t jobs_aboard() const {
        return static_cast<std::uint32_t>(aboard.size()) - asides;
    }
    [[nodiscard]] std::uint32_t slots() const {
        return static_cast<std::uint32_t>(slot_loads.size());
    }
    [[nodiscard]] std::uint32_t slots_taken() const {
        return static_cast<std::uint32_t>(slot_loads.size() - slots_idle.size());
    }
    [[nodiscard]] bool is_limited_to_one_job() const { return slots() == 1 && batch == 1; }
    [[nodiscard]] bool is_serving() const { return state == WorkerState::serving; }
    [[nodiscard]] bool is_loaded() const {
        return state == WorkerState::proving || state == WorkerState::serving;
    }
};

namespace worker {

void started(State& s, WorkerId id);
void load_progressed(State& s, WorkerId id);
void ready(State& s, const WorkerReady& event);
void exited(State& s, WorkerId id);
void gone(State& s, WorkerId id, Memory memory);
void misbehaved(State& s, WorkerId id);
void time_is_up(State& s, Worker& worker);

/// What it takes at once. Nothing is aboard yet.
void make_room(Worker& worker, std::uint32_t slots, std::uint32_t batch);

/// Loaded and, where there is a proof, proved.
void serve(State& s, Worker& worker);

/// Holds it, unless it is held for a stronger reason.
void hold(State& s, Worker& worker, Hold hold, Reason why);

/// Back to work at once.
void release_hold(State& s, Worker& worker);

/// What held it is over: on to whatever else holds it (a stuck job, a doubt, a rest), then to its
/// proof if it has one, then to work.
void lift_hold(State& s, Worker& worker);

/// Ends it: what is aboard is lost (blame decides what becomes of it), its lane hears of it.
/// On a worker that is stopping already, `kill` and `exited` only hasten.
void bring_down(State& s, Worker& worker, Reason why, Stop how);

/// Kills a worker that survived a kill once more.
void kill_again(State& s, Worker& worker, Reason why);

/// Takes the step that its state allows now: prove when empty, stop when retired and empty, kill
/// when stuck.
void step(State& s, Worker& worker);

/// Whether nobody is to blame for this end: we wanted it.
[[nodiscard]] bool was_ordered(Reason why);

}  // namespace worker
}  // namespace turnpike
