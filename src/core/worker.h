// A worker: one process with the user's model on a lane.
//
//   starting ─▶ loading ─▶ proving ─▶ serving ─▶ stopping ─▶ (gone: it leaves the slab)
//                              ▲         │           ▲
//                              └─────────┘           │ from every state
//
// A serving worker may be on hold: then it takes no jobs for now.
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
struct WorkerExited;
struct WorkerReady;

enum class WorkerState : std::uint8_t { starting, loading, proving, serving, stopping };

/// Why a serving worker takes no jobs. A later value outranks an earlier one.
enum class Hold : std::uint8_t {
    none,
    prove,   // it must pass a proof, which starts when nothing is aboard
    rest,    // it failed too many jobs in a row; after a pause come proof and probation
    probe,   // a link broke; it must answer a probe, then pass the proof
    retire,  // it finishes the attempts aboard, then stops
};

enum class Role : std::uint8_t {
    current,  // takes the lane's jobs
    next,     // of a reload; has not taken over yet
    leaving,  // was current before; finishes its jobs
};

enum class Stop : std::uint8_t {
    ask,     // StopWorker, then KillWorker after stop_grace
    kill,    // KillWorker
    exited,  // its main process is dead; KillWorker for what is left of its tree
    gone,    // it is dead, and nothing of its tree is left
};

enum class KillStage : std::uint8_t {
    not_sent,
    sent,
    survived,  // the worker was still there after kill_patience
};

/// The probe that a worker has not answered yet.
enum class PendingProbe : std::uint8_t {
    none,
    counts,             // nothing was aboard since it was sent, so silence is a failure
    counts_if_refused,  // only closed exchanges were aboard: silence says nothing, a refusal does
    ignored,            // the worker was busy, so silence says nothing
};

struct Worker {
    WorkerId id;
    LaneId lane;
    Generation generation;
    Role role = Role::current;
    WorkerState state = WorkerState::starting;
    Hold hold = Hold::none;
    Reason why = Reason::none;  // the reason for the hold, or for stopping

    List<Attempt, &Attempt::links> aboard;
    std::uint32_t asides = 0;
    std::uint32_t awaited = 0;    // attempts whose job waits for the answer, asides not counted
    std::uint32_t unawaited = 0;  // attempts in the state `abandoned`, closed ones not counted
    std::uint32_t closed = 0;     // attempts whose exchange is closed
    std::uint32_t overdue = 0;
    std::vector<std::uint32_t> slot_loads;  // attempts in each slot
    std::vector<std::uint32_t> slots_idle;
    std::uint32_t batch = 1;  // jobs that may share a slot
    Timer timer;              // ends the wait of its state: load, proof, rest or stop
    Timer abandon_timer;      // armed while nobody waits for anything aboard
    Instant started;
    Duration start_time = Duration::zero();  // from its start until it was ready
    Instant serving_since = never;
    CaseId open_case;  // opened when a link broke; no probe has been answered since
    // Until then it may still work on an exchange that was closed.
    Instant perhaps_busy_until = Instant::min();
    KillStage kill_stage = KillStage::not_sent;

    // health
    Timer probe_timer;
    std::uint32_t probe = 0;  // number of the latest probe
    Instant probe_sent = never;
    std::uint32_t probe_failures = 0;
    PendingProbe pending_probe = PendingProbe::none;
    bool is_doubted = false;  // a link broke, and no probe has been answered since

    // proof
    bool has_proof = false;   // its pool has one, or the worker brought an example
    std::uint32_t proof = 0;  // number of the latest proof
    Instant proof_due = never;
    std::optional<std::uint32_t> vote;

    // trust
    std::uint32_t fail_streak = 0;
    ClientId streak_client;  // whose job began the streak
    bool is_streak_of_several = false;
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
    [[nodiscard]] bool has_survived_kill() const { return kill_stage == KillStage::survived; }
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
void exited(State& s, const WorkerExited& event);
void gone(State& s, WorkerId id, Memory memory);
void misbehaved(State& s, WorkerId id);
void time_is_up(State& s, Worker& worker);

/// Sets the number of slots and the batch size. Nothing may be aboard yet.
void make_room(Worker& worker, std::uint32_t slots, std::uint32_t batch);

/// Lets the worker serve. It must be loaded and, if it has a proof, proved.
void serve(State& s, Worker& worker);

/// Puts the worker on hold, unless a stronger hold is in place.
void hold(State& s, Worker& worker, Hold hold, Reason why);

/// Ends the hold: the worker takes jobs again at once.
void release_hold(State& s, Worker& worker);

/// Ends the hold, and puts the worker on the next hold that applies: a stuck job, a doubted link, a
/// rest, or its proof. If none applies, the worker takes jobs again.
void lift_hold(State& s, Worker& worker);

/// Ends the worker and tells its lane. The attempts aboard are lost; blame decides what becomes of
/// their jobs. If the worker is already stopping, `kill` and `exited` only kill it now.
void bring_down(State& s, Worker& worker, Reason why, Stop how);

/// Sends another kill to a worker that survived the first one.
void kill_again(State& s, Worker& worker, Reason why);

/// Takes the step that the worker's state allows now: proves it if nothing is aboard, stops it if
/// it is retired and nothing is aboard, kills it if everything aboard is stuck.
void step(State& s, Worker& worker);

/// True if the worker retires because of attempts that do not end.
[[nodiscard]] bool is_stuck(Reason why);

/// True if we ended the worker on purpose, so that no job is to blame.
[[nodiscard]] bool was_ordered(Reason why);

}  // namespace worker
}  // namespace turnpike
