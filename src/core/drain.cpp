#include "core/drain.h"

#include "core/poison.h"
#include "core/reload.h"
#include "core/restart.h"
#include "core/state.h"

namespace turnpike::drain {

namespace {

/// Ends the worker gently at the first request. A second request kills it if it still finishes its
/// jobs, or kills it again if it survived a kill.
void end_for_restart(State& s, Worker& worker) {
    if (worker.state == WorkerState::stopping) {
        if (worker.has_survived_kill()) worker::kill_again(s, worker, Reason::restart_asked);
        return;
    }
    if (worker.role == Role::next)
        return worker::bring_down(s, worker, Reason::restart_asked, Stop::ask);
    const bool was_asked_before =
        worker.hold == Hold::retire && worker.why == Reason::restart_asked;
    if (was_asked_before) return worker::bring_down(s, worker, Reason::restart_asked, Stop::kill);
    lane::retire(s, worker, Reason::restart_asked);
    if (worker.hold == Hold::retire) worker.why = Reason::restart_asked;
}

}  // namespace

void drain_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane != nullptr && (lane->mode == LaneMode::on || lane->has_failed()))
        lane::turn_off(s, *lane, LaneMode::drained, Reason::drain_asked);
}

void resume_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr || lane->mode != LaneMode::drained) return;
    lane::turn_on(s, *lane);
    Worker* worker = lane->current;
    if (worker == nullptr || worker->hold != Hold::retire) return;
    const bool can_serve_again = worker->why == Reason::drain_asked ||
                                 worker->why == Reason::replaced ||
                                 worker->why == Reason::crashed_too_often;
    if (!can_serve_again) return;
    if (worker->generation == s.pool_of(*lane).good) return worker::lift_hold(s, *worker);
    worker->why = Reason::replaced;  // newer code became good while the lane was off
}

void restart_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr) return;
    restart::clear_history(s, *lane);
    poison::forget_all(s, s.pool_of(*lane));
    lane::forget_revival(*lane);
    reload::forget_trial_was_off(s, *lane);
    lane::turn_on(s, *lane);
    for (Worker* worker : {lane->current, lane->other})
        if (worker != nullptr) end_for_restart(s, *worker);
    s.touch(*lane);
}

}  // namespace turnpike::drain
