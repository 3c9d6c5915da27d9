#include "core/cancel.h"

#include "core/state.h"

namespace turnpike::cancel {

namespace {

void send_cancel(State& s, Attempt& attempt) {
    if (attempt.was_cancel_sent) return;
    attempt.was_cancel_sent = true;
    s.act(CancelAttempt{attempt.worker->id, attempt.id});
}

void apply_policy(State& s, Attempt& attempt) {
    if (attempt.is_aside()) return send_cancel(s, attempt);
    switch (s.pool_of(attempt).settings.cancel) {
        case CancelPolicy::finish: return;
        case CancelPolicy::close: return send_cancel(s, attempt);
        case CancelPolicy::kill:
            return worker::bring_down(s, *attempt.worker, Reason::job_cancelled, Stop::kill);
    }
}

}  // namespace

void abandon(State& s, Attempt& attempt) {
    attempt.job = {};
    if (attempt.state != AttemptState::running) return;
    attempt.state = AttemptState::abandoned;
    apply_policy(s, attempt);
}

void expire(State& s, Attempt& attempt) {
    attempt.state = AttemptState::expired;
    s.timers.arm(attempt.timer, later(s.now, s.pool_of(attempt).settings.cancel_grace));
    if (Job* job = s.jobs.find(attempt.job)) job::end(s, *job, EndReason::ran_too_long);
    apply_policy(s, attempt);
}

void grace_is_over(State& s, Attempt& attempt) {
    attempt.state = AttemptState::overdue;
    ++attempt.worker->overdue;
    worker::hold(s, *attempt.worker, Hold::retire, Reason::job_stuck);
    s.touch(s.lane_of(*attempt.worker));
}

void overdue_ended(State& s, Worker& worker) {
    if (--worker.overdue > 0 || !worker.is_serving()) return;
    if (worker.hold == Hold::retire && worker.why == Reason::job_stuck)
        worker::lift_hold(s, worker);
}

}  // namespace turnpike::cancel
