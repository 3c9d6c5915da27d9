#include "core/drain.h"

#include "core/restart.h"
#include "core/state.h"

namespace turnpike::drain {

namespace {

/// Gentle at first; asked again while it still finishes its jobs, or while it does not die: by
/// force.
void end_for_restart(State& s, Worker& worker) {
    const bool asked_before = worker.hold == Hold::retire && worker.why == Reason::restart_asked;
    if (worker.state == WorkerState::stopping) {
        if (worker.undead) worker::insist(s, worker, Reason::restart_asked);
        return;
    }
    if (asked_before) return worker::bring_down(s, worker, Reason::restart_asked, Stop::kill);
    lane::retire(s, worker, Reason::restart_asked);
    if (worker.hold == Hold::retire) worker.why = Reason::restart_asked;
}

}  // namespace

void drain_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane != nullptr && lane->mode == LaneMode::on)
        lane::turn_off(s, *lane, LaneMode::drained, Reason::drain_asked);
}

void resume_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr || lane->mode != LaneMode::drained) return;
    lane::turn_on(s, *lane);
    Worker* worker = lane->current;
    const bool was_drained =
        worker != nullptr && worker->hold == Hold::retire && worker->why == Reason::drain_asked;
    if (was_drained) worker::lift_hold(s, *worker);
}

void restart_asked(State& s, LaneId id) {
    Lane* lane = s.find_lane(id);
    if (lane == nullptr) return;
    restart::forget(s, *lane);
    lane->revived = false;
    lane::turn_on(s, *lane);
    if (lane->other != nullptr && lane->other->role == Role::next)
        worker::bring_down(s, *lane->other, Reason::restart_asked, Stop::ask);
    for (Worker* worker : {lane->current, lane->other})
        if (worker != nullptr && worker->role != Role::next) end_for_restart(s, *worker);
    s.touch(*lane);
}

}  // namespace turnpike::drain
