#include "core/lane.h"

#include <algorithm>

#include "core/blame.h"
#include "core/loading.h"
#include "core/placement.h"
#include "core/reload.h"
#include "core/state.h"

namespace turnpike::lane {

namespace {

LaneStatus status_off(const Lane& lane) {
    const bool has_worker = lane.current != nullptr || lane.other != nullptr;
    switch (lane.mode) {
        case LaneMode::drained:
            return {has_worker ? LaneState::draining : LaneState::drained, lane.off_reason};
        case LaneMode::failed: return {LaneState::failed, lane.off_reason};
        case LaneMode::trying: return {LaneState::failed, Reason::trying_again};
        case LaneMode::on:
        case LaneMode::quarantined: break;
    }
    return {LaneState::quarantined, lane.off_reason};
}

LaneStatus status_without_worker(const State& s, const Lane& lane) {
    if (s.shutdown.is_stopping()) return {LaneState::drained, Reason::shutting_down};
    if (lane.is_memory_held) return {LaneState::backoff, Reason::memory_held};
    if (s.now < lane.restart.not_before) return {LaneState::backoff, lane.restart.why};
    if (lane.is_in_load_line) return {LaneState::starting, Reason::turn_to_load};
    return {LaneState::starting, Reason::none};
}

LaneStatus status_coming_up(const State& s, const Worker& worker) {
    const Pool& pool = s.pool_of(s.lanes[worker.lane.value]);
    if (pool.settings.ownership == Ownership::attached)
        return {LaneState::backoff, Reason::worker_away};
    return {worker.state == WorkerState::starting ? LaneState::starting : LaneState::loading,
            Reason::none};
}

LaneStatus status_serving(const Lane& lane, const Worker& worker) {
    switch (worker.hold) {
        case Hold::retire: return {LaneState::draining, worker.why};
        case Hold::rest:
        case Hold::probe: return {LaneState::backoff, worker.why};
        case Hold::prove: return {LaneState::proving, worker.why};
        case Hold::none: break;
    }
    return {aboard(lane) > 0 ? LaneState::busy : LaneState::ready, Reason::none};
}

/// A shortage of the gate says nothing about the new code: the next worker is started again later.
void next_ended(State& s, Lane& lane, Reason why) {
    if (why == Reason::shortage) {
        lane.next_not_before = restart::after_shortage(s, lane);
        return;
    }
    switch (lane.next_step) {
        case NextStep::awaited: lane.next_step = NextStep::ended; return;
        case NextStep::reviving: lane.next_step = NextStep::revival_ended; return;
        case NextStep::none:
        case NextStep::ended:
        case NextStep::revival_ended: return;
    }
}

/// Treats `busy` as `ready`, because the two alternate with every job. Telemetry learns that from
/// the jobs.
LaneState without_jobs(LaneState state) {
    return state == LaneState::busy ? LaneState::ready : state;
}

}  // namespace

LaneStatus status_of(const State& s, const Lane& lane) {
    if (lane.mode != LaneMode::on) return status_off(lane);
    if (lane.current == nullptr) return status_without_worker(s, lane);
    const Worker& worker = *lane.current;
    switch (worker.state) {
        case WorkerState::starting:
        case WorkerState::loading: return status_coming_up(s, worker);
        case WorkerState::proving: return {LaneState::proving, worker.why};
        case WorkerState::serving: return status_serving(lane, worker);
        case WorkerState::stopping:
            return {worker::was_ordered(worker.why) && worker.why != Reason::shortage
                        ? LaneState::draining
                        : LaneState::backoff,
                    worker.why};
    }
    return {};
}

void report(State& s, Lane& lane) {
    const LaneStatus status = status_of(s, lane);
    const LaneState state = without_jobs(status.state);
    const bool is_next_try_new =
        lane.mode == LaneMode::failed && lane.next_try_at != lane.reported_next_try;
    if (state == lane.reported_state && status.reason == lane.reported_reason && !is_next_try_new)
        return;
    lane.reported_state = state;
    lane.reported_reason = status.reason;
    lane.reported_next_try = lane.next_try_at;
    s.act(ReportLane{lane.id, state, status.reason, next_try(lane, s.now)});
}

Duration next_try(const Lane& lane, Instant now) {
    return lane.mode == LaneMode::failed ? std::max(lane.next_try_at - now, Duration::zero())
                                         : Duration::zero();
}

std::uint32_t aboard(const Lane& lane) {
    std::size_t count = 0;
    if (lane.current != nullptr) count += lane.current->aboard.size();
    if (lane.other != nullptr) count += lane.other->aboard.size();
    return static_cast<std::uint32_t>(count);
}

std::uint32_t asides(const Lane& lane) {
    std::uint32_t count = 0;
    if (lane.current != nullptr) count += lane.current->asides;
    if (lane.other != nullptr) count += lane.other->asides;
    return count;
}

std::uint32_t slots(const State& s, const Lane& lane) {
    return lane.current != nullptr ? lane.current->slots() : s.pool_of(lane).settings.slots;
}

std::uint32_t slots_free(const State& s, const Lane& lane) {
    std::uint32_t taken = 0;
    if (lane.current != nullptr) taken += lane.current->slots_taken();
    if (lane.other != nullptr) taken += lane.other->slots_taken();
    const std::uint32_t all = slots(s, lane);
    return all > taken ? all - taken : 0;
}

void retire(State& s, Worker& worker, Reason why) {
    if (worker.is_serving()) return worker::hold(s, worker, Hold::retire, why);
    worker::bring_down(s, worker, why, Stop::ask);
}

void turn_on(State& s, Lane& lane) {
    if (lane.mode == LaneMode::on) return;
    lane.mode = LaneMode::on;
    lane.off_reason = Reason::none;
    lane.next_try_at = never;
    ++s.pool_of(lane).lanes_on;
    s.touch(lane);
}

void worker_serves(State& s, Lane& lane, const Worker& worker) {
    lane.served = worker.generation;
    lane.restart.shortage_level = 0;
    if (lane.mode != LaneMode::trying) return;
    turn_on(s, lane);
    lane.restart.is_on_parole = true;
}

void stop_trying(State& s, Lane& lane) {
    lane.mode = LaneMode::failed;
    lane.next_try_at = later(s.now, s.pool_of(lane).settings.revive_every);
    if (lane.current != nullptr) retire(s, *lane.current, Reason::replaced);
    s.touch(lane);
}

void turn_off(State& s, Lane& lane, LaneMode mode, Reason why) {
    if (lane.mode == LaneMode::on) --s.pool_of(lane).lanes_on;
    lane.mode = mode;
    lane.off_reason = why;
    lane.next_try_at = never;
    if (mode == LaneMode::failed) {
        lane.next_try_at = later(s.now, s.pool_of(lane).settings.revive_every);
        blame::forgive(s, lane);  // what led to this must not count again
    }
    forget_revival(lane);
    s.timers.disarm(lane.timer);
    s.touch(lane);
    if (lane.current != nullptr) retire(s, *lane.current, why);
    if (lane.other != nullptr && lane.other->role == Role::next)
        worker::bring_down(s, *lane.other, Reason::reload_abandoned, Stop::ask);
}

namespace {

/// Lets a failed lane start a worker if it is time for that. During a reload the lane waits: newer
/// code may soon be there for it.
void try_again(State& s, Lane& lane) {
    if (s.now < lane.next_try_at) return s.timers.arm(lane.timer, lane.next_try_at);
    if (s.shutdown.is_asked() || s.pool_of(lane).reload.stage != ReloadStage::idle) return;
    if (lane.current != nullptr || lane.other != nullptr) return;  // it still finishes its jobs
    lane.mode = LaneMode::trying;
    lane.restart.not_before = s.now;
}

/// Wakes the lane when the delay before its next start is over.
void wait_for_start(State& s, Lane& lane) {
    if (lane.mode != LaneMode::on && lane.mode != LaneMode::trying) return;
    Instant next = never;
    const auto await = [&](Instant start) {
        if (s.now < start) next = std::min(next, start);
    };
    if (lane.current == nullptr) await(lane.restart.not_before);
    if (lane.other == nullptr && lane.is_next_awaited()) await(lane.next_not_before);
    if (next != never) s.timers.arm(lane.timer, next);
}

}  // namespace

void step(State& s, Lane& lane) {
    if (lane.current != nullptr) worker::step(s, *lane.current);
    if (lane.other != nullptr) worker::step(s, *lane.other);
    wait_for_start(s, lane);
    if (lane.mode == LaneMode::failed) try_again(s, lane);
    const bool may_start_worker = lane.current == nullptr || lane.is_next_awaited();
    if (may_start_worker) loading::line_up(s, lane);
    placement::refresh(s, lane);
}

void worker_down(State& s, Lane& lane, Worker& worker, Reason why) {
    s.touch(lane);
    switch (worker.role) {
        case Role::leaving: return;
        case Role::next: return next_ended(s, lane, why);
        case Role::current:
            restart::note_good_run(s, lane, worker);
            if (why == Reason::shortage) {
                lane.restart.not_before = restart::after_shortage(s, lane);
                lane.restart.why = why;
            } else if (reload::is_trial(s, lane, worker)) {
                reload::trial_ended(s, lane);
            } else if (lane.mode == LaneMode::on) {
                restart::after(s, lane, worker, why);
            } else if (lane.mode == LaneMode::trying) {
                restart::try_ended(s, lane, why);
            }
    }
}

void forget_revival(Lane& lane) {
    switch (lane.next_step) {
        case NextStep::reviving: lane.next_step = NextStep::awaited; return;
        case NextStep::revival_ended: lane.next_step = NextStep::ended; return;
        case NextStep::none:
        case NextStep::awaited:
        case NextStep::ended: return;
    }
}

void memory_freed(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr || !lane->is_memory_held) return;
    lane->is_memory_held = false;
    s.touch(*lane);
}

void gpu_lost(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr) return;
    for (Worker* worker : {lane->current, lane->other})
        if (worker != nullptr) worker::bring_down(s, *worker, Reason::gpu_lost, Stop::kill);
    turn_off(s, *lane, LaneMode::quarantined, Reason::gpu_lost);
}

}  // namespace turnpike::lane
