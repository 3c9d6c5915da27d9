#include "core/loading.h"

#include <algorithm>

#include "core/reload.h"
#include "core/state.h"

namespace turnpike::loading {

namespace {

/// True if no earlier worker is still stopping. Such a worker might hold the lane's memory.
bool is_clear(const Lane& lane) {
    for (const Worker* worker : {lane.current, lane.other})
        if (worker != nullptr && worker->state == WorkerState::stopping) return false;
    return true;
}

bool may_start(const State& s, const Lane& lane) {
    return s.is_open && !s.shutdown.is_stopping() &&
           (lane.mode == LaneMode::on || lane.mode == LaneMode::trying) && !lane.is_memory_held &&
           is_clear(lane);
}

bool needs_current(const State& s, const Lane& lane) {
    const bool is_spreading = s.pool_of(lane).reload.stage == ReloadStage::spreading;
    const bool will_next_take_over = lane.is_revived() || (lane.is_next_awaited() && is_spreading);
    return may_start(s, lane) && lane.current == nullptr && !will_next_take_over &&
           s.now >= lane.restart.not_before;
}

bool needs_next(const State& s, const Lane& lane) {
    return may_start(s, lane) && lane.is_next_awaited() && lane.other == nullptr &&
           s.now >= lane.next_not_before;
}

bool needs_turn(const State& s, const Lane& lane) {
    return s.pool_of(lane).settings.ownership == Ownership::owned;
}

bool has_turn(const State& s, const Lane& lane) {
    return !needs_turn(s, lane) || s.settings.load_parallel_max == 0 ||
           s.loading < s.settings.load_parallel_max;
}

/// Removes and returns the first lane in line that may start now, or nullptr if there is none.
Lane* take_next(State& s) {
    const auto next = std::ranges::find_if(
        s.load_line, [&](LaneId id) { return has_turn(s, s.lanes[id.value]); });
    if (next == s.load_line.end()) return nullptr;
    Lane& lane = s.lanes[next->value];
    s.load_line.erase(next);
    lane.is_in_load_line = false;
    return &lane;
}

void start(State& s, Lane& lane, Role role, Generation generation) {
    const Pool& pool = s.pool_of(lane);
    Worker& worker = s.workers.add();
    worker.lane = lane.id;
    worker.generation = generation;
    worker.role = role;
    worker.timer = {.kind = TimerKind::worker, .owner = worker.id.value};
    worker.probe_timer = {.kind = TimerKind::probe, .owner = worker.id.value};
    worker.abandon_timer = {.kind = TimerKind::abandoned, .owner = worker.id.value};
    worker.started = s.now;
    worker.has_proof = pool.has_proof();
    worker::make_room(worker, pool.settings.slots, pool.settings.batch);
    if (needs_turn(s, lane)) ++s.loading;
    (role == Role::current ? lane.current : lane.other) = &worker;
    if (role == Role::current) ++lane.starts;
    s.act(StartWorker{worker.id, lane.id, generation, role == Role::next});
    if (pool.settings.ownership == Ownership::owned)
        s.timers.arm(worker.timer, later(s.now, pool.settings.load_timeout));
    s.touch(lane);
}

}  // namespace

void line_up(State& s, Lane& lane) {
    if (lane.is_in_load_line || (!needs_current(s, lane) && !needs_next(s, lane))) return;
    lane.is_in_load_line = true;
    s.load_line.push_back(lane.id);
}

void start_next(State& s) {
    while (Lane* const next = take_next(s)) {
        Lane& lane = *next;
        if (needs_current(s, lane)) {
            start(s, lane, Role::current, reload::generation_for(s, lane));
        } else if (needs_next(s, lane)) {
            start(s, lane, Role::next, s.pool_of(lane).reload.generation);
        }
        line_up(s, lane);
    }
}

}  // namespace turnpike::loading
