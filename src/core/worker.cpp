#include "core/worker.h"

#include <algorithm>

#include "core/blame.h"
#include "core/event.h"
#include "core/health.h"
#include "core/placement.h"
#include "core/proof.h"
#include "core/state.h"

namespace turnpike::worker {

namespace {

bool is_loading(const Worker& worker) {
    return worker.state == WorkerState::starting || worker.state == WorkerState::loading;
}

/// True if the worker counts against load_parallel_max. Attached workers do not: somebody else
/// loads them, and they may stay away for ever.
bool is_counted_as_loading(State& s, const Worker& worker) {
    return is_loading(worker) &&
           s.pool_of(s.lane_of(worker)).settings.ownership == Ownership::owned;
}

void set_state(State& s, Worker& worker, WorkerState state) {
    if (is_counted_as_loading(s, worker)) --s.loading;
    worker.state = state;
    if (is_counted_as_loading(s, worker)) ++s.loading;
    s.touch(s.lane_of(worker));
}

void wait_for_load(State& s, Worker& worker) {
    const PoolSettings& settings = s.pool_of(worker).settings;
    if (settings.ownership == Ownership::attached) return;
    s.timers.arm(worker.timer, later(s.now, settings.load_timeout));
}

void ask(State& s, Worker& worker) {
    s.act(StopWorker{worker.id, worker.why});
    s.timers.arm(worker.timer, later(s.now, s.pool_of(worker).settings.stop_grace));
}

void kill(State& s, Worker& worker) {
    worker.kill_stage = KillStage::sent;
    s.act(KillWorker{worker.id, worker.why});
    s.timers.arm(worker.timer, later(s.now, s.pool_of(worker).settings.kill_patience));
}

/// Applies the numbers that the worker announces. The pool's number counts for each one that the
/// worker leaves out.
void apply_announcement(State& s, Worker& worker, const WorkerReady& said) {
    Pool& pool = s.pool_of(worker);
    pool.did_latest_have_example = said.has_example;
    worker.has_proof = pool.has_proof() || said.has_example;
    if (pool.settings.cancel == CancelPolicy::kill) return;  // so that a kill hits no other job
    const auto bounded = [](std::uint32_t announced, std::uint32_t of_pool, std::uint32_t max) {
        return announced == 0 ? of_pool : std::min(announced, max);
    };
    make_room(worker, bounded(said.slots, pool.settings.slots, slots_max),
              bounded(said.batch, pool.settings.batch, batch_max));
}

/// True if every attempt aboard is overdue, or is one that nobody can wait for any more.
bool can_nothing_finish(const Worker& worker) {
    for (const Attempt* it = worker.aboard.front(); it != nullptr; it = it->links.after)
        if (it->state != AttemptState::overdue && !it->is_closed) return false;
    return true;
}

/// Returns why a worker with overdue attempts is stuck.
Reason why_stuck(const Worker& worker) {
    for (const Attempt* it = worker.aboard.front(); it != nullptr; it = it->links.after)
        if (it->state == AttemptState::overdue && !it->expired_unawaited) return Reason::job_stuck;
    return Reason::job_abandoned;
}

/// Kills the worker after stop_grace. Gives up on its lane after kill_patience.
void stop_takes_long(State& s, Worker& worker) {
    if (worker.kill_stage == KillStage::not_sent) return kill(s, worker);
    worker.kill_stage = KillStage::survived;
    lane::turn_off(s, s.lane_of(worker), LaneMode::quarantined, Reason::will_not_die);
}

}  // namespace

void started(State& s, WorkerId id) {
    Worker* worker = s.workers.find(id);
    if (worker == nullptr || worker->state != WorkerState::starting) return;
    set_state(s, *worker, WorkerState::loading);
    wait_for_load(s, *worker);
}

void load_progressed(State& s, WorkerId id) {
    Worker* worker = s.workers.find(id);
    if (worker != nullptr && is_loading(*worker)) wait_for_load(s, *worker);
}

void make_room(Worker& worker, std::uint32_t slots, std::uint32_t batch) {
    worker.batch = batch;
    worker.slot_loads.assign(slots, 0);
    worker.slots_idle.clear();
    for (std::uint32_t slot = slots; slot > 0; --slot) worker.slots_idle.push_back(slot - 1);
}

void ready(State& s, const WorkerReady& event) {
    Worker* worker = s.workers.find(event.worker);
    if (worker == nullptr || !is_loading(*worker)) return;
    s.timers.disarm(worker->timer);
    if (s.pool_of(*worker).settings.ownership == Ownership::owned)
        worker->start_time = s.now - worker->started;
    apply_announcement(s, *worker, event);
    if (!worker->has_proof) return serve(s, *worker);
    set_state(s, *worker, WorkerState::serving);
    hold(s, *worker, Hold::prove, Reason::proof_due);
}

void exited(State& s, const WorkerExited& event) {
    Worker* worker = s.workers.find(event.worker);
    if (worker == nullptr) return;
    const bool was_started = event.cause != ExitCause::shortage;
    bring_down(s, *worker, was_started ? Reason::exited : Reason::shortage, Stop::exited);
}

void gone(State& s, WorkerId id, Memory memory) {
    Worker* worker = s.workers.find(id);
    if (worker == nullptr) return;
    bring_down(s, *worker, Reason::exited, Stop::gone);
    Lane& lane = s.lane_of(*worker);
    if (lane.current == worker) lane.current = nullptr;
    if (lane.other == worker) lane.other = nullptr;
    if (memory == Memory::held) lane.is_memory_held = true;
    s.timers.disarm(worker->timer);
    s.workers.remove(*worker);
    s.touch(lane);
}

void misbehaved(State& s, WorkerId id) {
    Worker* worker = s.workers.find(id);
    if (worker == nullptr || worker->state == WorkerState::stopping) return;
    bring_down(s, *worker, Reason::misbehaved, Stop::kill);
}

void time_is_up(State& s, Worker& worker) {
    switch (worker.state) {
        case WorkerState::starting:
        case WorkerState::loading: return bring_down(s, worker, Reason::load_silent, Stop::kill);
        case WorkerState::proving: return bring_down(s, worker, Reason::proof_silent, Stop::kill);
        case WorkerState::serving:
            if (worker.hold == Hold::rest) lift_hold(s, worker);
            return;
        case WorkerState::stopping: return stop_takes_long(s, worker);
    }
}

void serve(State& s, Worker& worker) {
    s.timers.disarm(worker.timer);
    set_state(s, worker, WorkerState::serving);
    worker.hold = Hold::none;
    worker.why = Reason::none;
    if (worker.serving_since == never) {
        worker.serving_since = s.now;
        health::begin(s, worker);
        if (worker.role == Role::current) lane::worker_serves(s, s.lane_of(worker), worker);
    }
}

void hold(State& s, Worker& worker, Hold hold, Reason why) {
    // A worker that retires for a stuck job may serve again. Every other reason to retire is final
    // and replaces that one.
    const bool is_final = hold == Hold::retire && is_stuck(worker.why);
    if (!worker.is_serving() || (hold <= worker.hold && !is_final)) return;
    worker.hold = hold;
    worker.why = why;
    s.timers.arm(worker.timer, hold == Hold::rest ? worker.rests_until : never);
    s.touch(s.lane_of(worker));
}

void release_hold(State& s, Worker& worker) {
    worker.hold = Hold::none;
    worker.why = Reason::none;
    s.timers.disarm(worker.timer);
    s.touch(s.lane_of(worker));
}

void lift_hold(State& s, Worker& worker) {
    release_hold(s, worker);
    if (worker.overdue > 0) hold(s, worker, Hold::retire, why_stuck(worker));
    if (worker.is_doubted) hold(s, worker, Hold::probe, Reason::link_doubted);
    if (worker.rests_until > s.now) hold(s, worker, Hold::rest, Reason::failing_jobs);
    if (worker.has_proof) hold(s, worker, Hold::prove, Reason::proof_due);
}

bool is_stuck(Reason why) { return why == Reason::job_stuck || why == Reason::job_abandoned; }

bool was_ordered(Reason why) {
    switch (why) {
        case Reason::restart_asked:
        case Reason::drain_asked:
        case Reason::replaced:
        case Reason::reload_abandoned:
        case Reason::shutting_down:
        case Reason::gpu_lost:
        case Reason::job_stuck:
        case Reason::job_abandoned:
        case Reason::job_cancelled:
        case Reason::disagrees:
        case Reason::crashed_too_often:
        case Reason::will_not_die:
        case Reason::shortage: return true;
        case Reason::none:
        case Reason::exited:
        case Reason::load_silent:
        case Reason::misbehaved:
        case Reason::unhealthy:
        case Reason::not_answering:
        case Reason::proof_failed:
        case Reason::proof_silent:
        case Reason::trying_again:
        case Reason::worker_away:
        case Reason::memory_held:
        case Reason::turn_to_load:
        case Reason::failing_jobs:
        case Reason::link_doubted:
        case Reason::proof_due: return false;
    }
    return false;
}

void bring_down(State& s, Worker& worker, Reason why, Stop how) {
    if (worker.state == WorkerState::stopping) {
        const bool may_leave_processes = how == Stop::kill || how == Stop::exited;
        if (how == Stop::kill) worker.why = why;
        if (may_leave_processes && worker.kill_stage == KillStage::not_sent) kill(s, worker);
        return;
    }
    blame::worker_lost(s, worker, why);
    set_state(s, worker, WorkerState::stopping);
    worker.hold = Hold::none;
    worker.why = why;
    worker.vote.reset();
    s.timers.disarm(worker.probe_timer);
    s.timers.disarm(worker.abandon_timer);
    proof::worker_down(s, worker);
    s.timers.disarm(worker.timer);
    switch (how) {
        case Stop::ask: ask(s, worker); break;
        case Stop::kill:
        case Stop::exited: kill(s, worker); break;
        case Stop::gone: break;
    }
    lane::worker_down(s, s.lane_of(worker), worker, why);
    blame::close_case_of(s, worker);
}

void kill_again(State& s, Worker& worker, Reason why) {
    worker.why = why;
    kill(s, worker);
}

void step(State& s, Worker& worker) {
    if (!worker.is_serving()) return;
    const bool is_empty = worker.aboard.empty();
    if (worker.hold == Hold::retire) {
        if (is_empty) return bring_down(s, worker, worker.why, Stop::ask);
        if (worker.overdue > 0 && can_nothing_finish(worker))
            return bring_down(s, worker, why_stuck(worker), Stop::kill);
    }
    if (worker.hold == Hold::prove && is_empty) proof::begin(s, worker);
}

}  // namespace turnpike::worker
