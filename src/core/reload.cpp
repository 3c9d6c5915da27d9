#include "core/reload.h"

#include <utility>

#include "core/poison.h"
#include "core/restart.h"
#include "core/state.h"

namespace turnpike::reload {

namespace {

bool is_candidate(const Lane& lane) {
    return lane.mode == LaneMode::on || lane.has_failed() || lane.is_off_for_wrong_answers();
}

bool is_in_service(const Worker* worker, Generation generation) {
    return worker != nullptr && worker->is_serving() && worker->hold == Hold::none &&
           worker->generation == generation;
}

/// Turns a lane on that had failed or given wrong answers: newer code may help.
void revive(State& s, Lane& lane) {
    if (lane.mode == LaneMode::on) return;
    lane.revived_from = lane.mode;
    lane.revived_reason = lane.off_reason;
    restart::clear_history(s, lane);
    lane::turn_on(s, lane);
}

void begin_beside(State& s, Pool& pool) {
    s.each_lane(pool, [&](Lane& lane) {
        if (!is_candidate(lane)) return;
        lane.next_step = lane.mode == LaneMode::on ? NextStep::awaited : NextStep::reviving;
        revive(s, lane);
        s.touch(lane);
    });
}

bool has_serving_worker(const Lane& lane) {
    return lane.current != nullptr && lane.current->is_serving();
}

/// True if `a` is the better lane for the trial: one that is on, then one that does not serve now,
/// then the one with less aboard.
bool is_better_trial(const Lane& a, const Lane& b) {
    if ((a.mode == LaneMode::on) != (b.mode == LaneMode::on)) return a.mode == LaneMode::on;
    if (has_serving_worker(a) != has_serving_worker(b)) return has_serving_worker(b);
    return lane::aboard(a) < lane::aboard(b);
}

void begin_in_place(State& s, Pool& pool) {
    Lane* trial = nullptr;
    s.each_lane(pool, [&](Lane& lane) {
        if (is_candidate(lane) && (trial == nullptr || is_better_trial(lane, *trial)))
            trial = &lane;
    });
    pool.reload.is_trial_revived = trial->mode != LaneMode::on;
    revive(s, *trial);
    trial->restart.not_before = s.now;
    pool.reload.trial = trial->id;
    if (trial->current != nullptr) lane::retire(s, *trial->current, Reason::replaced);
    s.touch(*trial);
}

void begin(State& s, Pool& pool) {
    bool has_candidate = false;
    s.each_lane(pool,
                [&](const Lane& lane) { has_candidate = has_candidate || is_candidate(lane); });
    if (!has_candidate || s.shutdown.is_asked()) return;
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.mode == LaneMode::trying) lane::stop_trying(s, lane);
    });
    const ReloadRequest request = std::exchange(pool.reload_waiting, {});
    pool.reload = {.stage = ReloadStage::trying, .generation = request.generation, .trial = {}};
    request.kind == ReloadKind::beside ? begin_beside(s, pool) : begin_in_place(s, pool);
}

void finish(State& s, Pool& pool, ReloadEnd end) {
    s.act(ReportReload{pool.id, pool.reload.generation, end});
    s.each_lane(pool, [&](Lane& lane) {
        lane.next_step = NextStep::none;
        if (lane.mode == LaneMode::failed) s.touch(lane);  // it may be time to try again
    });
    pool.reload = {};
    s.touch(pool);
}

/// True if the lane's worker runs the good generation and is retiring to make room for the trial.
bool is_making_room(const Pool& pool, const Lane& lane) {
    const Worker* worker = lane.current;
    return worker != nullptr && worker->generation == pool.good && worker->hold == Hold::retire &&
           worker->why == Reason::replaced;
}

/// Lets the good worker serve again. If its lane was turned off meanwhile, the worker still ends,
/// but for that reason.
void keep_good_worker(State& s, const Lane& lane) {
    if (lane.mode == LaneMode::on) return worker::lift_hold(s, *lane.current);
    lane.current->why = lane.off_reason;
}

/// Ends the workers of the new generation and puts the lanes back as they were before.
void give_up(State& s, Pool& pool, ReloadEnd end) {
    const Generation tried = pool.reload.generation;
    const bool is_outdated = end == ReloadEnd::superseded;
    const Reason why = is_outdated ? Reason::replaced : Reason::reload_abandoned;
    const Stop how = is_outdated ? Stop::kill : Stop::ask;  // newer code waits for their place
    s.each_lane(pool, [&](Lane& lane) {
        for (Worker* worker : {lane.current, lane.other})
            if (worker != nullptr && worker->generation == tried)
                worker::bring_down(s, *worker, why, how);
        const bool is_revived_trial = lane.id == pool.reload.trial &&
                                      pool.reload.is_trial_revived && lane.mode == LaneMode::on;
        if (lane.is_revived() || is_revived_trial)
            lane::turn_off(s, lane, lane.revived_from, lane.revived_reason);
        if (is_making_room(pool, lane)) keep_good_worker(s, lane);
        s.touch(lane);
    });
    finish(s, pool, end);
}

/// Makes the new generation the good one. Clears the history of every lane, because what the old
/// code did does not count against the new code. Lanes that had failed or given wrong answers with
/// the old code get the new code, too.
void became_good(State& s, Pool& pool) {
    pool.good = pool.reload.generation;
    s.each_lane(pool, [&](Lane& lane) {
        restart::clear_history(s, lane);
        if (lane.mode == LaneMode::failed || lane.is_off_for_wrong_answers())
            lane::turn_on(s, lane);
        s.touch(lane);
    });
    poison::forget_all(s, pool);
}

void try_out(State& s, Pool& pool) {
    Reload& reload = pool.reload;
    bool may_succeed = false;
    s.each_lane(pool, [&](const Lane& lane) {
        if (is_in_service(lane.current, reload.generation) ||
            is_in_service(lane.other, reload.generation))
            reload.stage = ReloadStage::spreading;
        may_succeed = may_succeed || (lane.mode == LaneMode::on && lane.is_next_awaited());
    });
    if (reload.stage == ReloadStage::spreading) return became_good(s, pool);
    if (!reload.trial.is_none())
        may_succeed = !reload.has_trial_ended && s.lanes[reload.trial.value].mode == LaneMode::on;
    if (!may_succeed || s.shutdown.is_asked()) give_up(s, pool, ReloadEnd::abandoned);
}

/// Makes the next worker the current one. The old worker finishes the jobs aboard.
void switch_over(State& s, Lane& lane) {
    Worker* old = lane.current;
    lane.current = lane.other;
    lane.other = old;
    lane.current->role = Role::current;
    lane.served = lane.current->generation;
    lane.restart.not_before = s.now;
    lane.restart.shortage_level = 0;
    lane.next_step = NextStep::none;
    s.act(ReportSwitch{lane.id, lane.current->id});
    s.touch(lane);
    if (old == nullptr) return;
    old->role = Role::leaving;
    lane::retire(s, *old, Reason::replaced);
}

void move_on(State& s, const Pool& pool, Lane& lane) {
    if (lane.is_next_awaited() && lane.other != nullptr && lane.other->role == Role::next) {
        if (is_in_service(lane.other, pool.good)) switch_over(s, lane);
        return;
    }
    if (lane.is_next_awaited()) return;
    if (lane.is_revived()) {
        lane::forget_revival(lane);
        s.touch(lane);
    }
    Worker* worker = lane.current;
    if (worker != nullptr && worker->generation != pool.good)
        lane::retire(s, *worker, Reason::replaced);
}

bool is_done_with_reload(const Pool& pool, const Lane& lane) {
    return lane.mode != LaneMode::on ||
           ((lane.current == nullptr || lane.current->generation == pool.good) &&
            lane.other == nullptr && !lane.is_revived());
}

void spread(State& s, Pool& pool) {
    bool is_over = true;
    s.each_lane(pool, [&](Lane& lane) {
        if (is_done_with_reload(pool, lane)) return;
        is_over = false;
        move_on(s, pool, lane);
    });
    if (!is_over) return;
    // Reports the lanes before the end of the reload, so that the shell knows which lanes are still
    // coming up, including those that were revived in this turn.
    s.each_lane(pool, [&](Lane& lane) { lane::report(s, lane); });
    finish(s, pool, ReloadEnd::spread);
}

}  // namespace

void asked(State& s, const ReloadAsked& event) {
    Pool* pool = s.find_pool(event.pool);
    if (pool == nullptr || event.generation.is_none() || event.generation <= pool->newest) return;
    pool->newest = event.generation;
    pool->reload_waiting = {.generation = event.generation, .kind = event.kind};
    s.touch(*pool);
}

void step(State& s, Pool& pool) {
    const Reload& reload = pool.reload;
    if (!pool.reload_waiting.generation.is_none()) {
        if (reload.stage == ReloadStage::trying) give_up(s, pool, ReloadEnd::superseded);
        if (reload.stage == ReloadStage::idle) begin(s, pool);
    }
    if (reload.stage == ReloadStage::trying) try_out(s, pool);
    if (reload.stage == ReloadStage::spreading) spread(s, pool);
}

void proof_failed(State& s, Pool& pool, Generation generation) {
    if (pool.reload.generation == generation && pool.reload.stage == ReloadStage::trying)
        give_up(s, pool, ReloadEnd::abandoned);
}

bool is_trial(const State& s, const Lane& lane, const Worker& worker) {
    const Reload& reload = s.pool_of(lane).reload;
    return reload.stage == ReloadStage::trying && reload.trial == lane.id &&
           worker.generation == reload.generation;
}

void trial_ended(State& s, Lane& lane) {
    s.pool_of(lane).reload.has_trial_ended = true;
    lane.restart.not_before = s.now;
}

void forget_trial_was_off(State& s, const Lane& lane) {
    Reload& reload = s.pool_of(lane).reload;
    if (reload.trial == lane.id) reload.is_trial_revived = false;
}

Generation generation_for(const State& s, const Lane& lane) {
    const Pool& pool = s.pool_of(lane);
    const bool is_trial_lane = pool.reload.trial == lane.id && !pool.reload.has_trial_ended;
    return is_trial_lane ? pool.reload.generation : pool.good;
}

}  // namespace turnpike::reload
