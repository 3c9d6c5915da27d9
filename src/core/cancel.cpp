#include "core/cancel.h"

#include <algorithm>

#include "core/health.h"
#include "core/state.h"

namespace turnpike::cancel {

namespace {

constexpr Duration long_run =
    30s;  // stands for slow_factor × usual while the usual time is unknown

void send_cancel(State& s, Attempt& attempt) {
    if (attempt.was_cancel_sent) return;
    attempt.was_cancel_sent = true;
    s.act(CancelAttempt{attempt.worker->id, attempt.id});
}

void apply_policy(State& s, Attempt& attempt) {
    if (attempt.is_aside()) return send_cancel(s, attempt);
    switch (s.pool_of(attempt).settings.cancel) {
        case CancelPolicy::finish:
            if (attempt.has_begun) send_cancel(s, attempt);
            return;
        case CancelPolicy::close: return send_cancel(s, attempt);
        case CancelPolicy::kill:
            return worker::bring_down(s, *attempt.worker, Reason::job_cancelled, Stop::kill);
    }
}

/// Changes the state of the attempt, and counts it among the attempts of its worker.
void set_state(Attempt& attempt, AttemptState state) {
    Worker& worker = *attempt.worker;
    if (attempt.is_awaited()) --worker.awaited;
    if (attempt.is_unawaited()) --worker.unawaited;
    attempt.state = state;
    if (attempt.is_unawaited()) ++worker.unawaited;
}

void start_grace(State& s, Attempt& attempt) {
    set_state(attempt, AttemptState::expired);
    s.timers.arm(attempt.timer, later(s.now, s.pool_of(attempt).settings.cancel_grace));
}

/// Returns how long the worker may go on when nobody waits for it from now on.
Instant patience_ends_at(State& s, const Worker& worker) {
    const Pool& pool = s.pool_of(worker);
    const PoolSettings& settings = pool.settings;
    if (settings.abandon_after > Duration::zero()) return later(s.now, settings.abandon_after);
    const bool is_usual_known = pool.pace.samples() >= settings.slow_samples_min;
    const Duration usual = std::min<Duration>(pool.pace.usual(), 24h);
    const Duration long_time = is_usual_known ? usual * settings.slow_factor : long_run;
    Instant end = later(s.now, std::max(settings.cancel_grace, worker.start_time));
    for (const Attempt* it = worker.aboard.front(); it != nullptr; it = it->links.after)
        if (it->is_unawaited()) end = std::max(end, later(it->sent, long_time));
    return end;
}

}  // namespace

void abandon(State& s, Attempt& attempt) {
    attempt.job = {};
    if (attempt.state != AttemptState::running) return;
    Worker& worker = *attempt.worker;
    set_state(attempt, AttemptState::abandoned);
    apply_policy(s, attempt);
    if (worker.is_serving()) update_abandon_clock(s, worker);
}

void expire(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    start_grace(s, attempt);
    if (Job* job = s.jobs.find(attempt.job)) job::end(s, *job, EndReason::ran_too_long);
    apply_policy(s, attempt);
    if (worker.is_serving()) update_abandon_clock(s, worker);
}

void grace_is_over(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    set_state(attempt, AttemptState::overdue);
    ++worker.overdue;
    worker::hold(s, worker, Hold::retire,
                 attempt.expired_unawaited ? Reason::job_abandoned : Reason::job_stuck);
    s.touch(s.lane_of(worker));
}

void overdue_ended(State& s, Worker& worker) {
    if (--worker.overdue > 0 || !worker.is_serving()) return;
    if (worker.hold == Hold::retire && worker::is_stuck(worker.why)) worker::lift_hold(s, worker);
}

void closed(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    if (attempt.is_closed) return;
    if (attempt.is_unawaited()) --worker.unawaited;
    attempt.is_closed = true;
    attempt.closed_at_probe = worker.probe;
    ++worker.closed;
    s.touch(s.lane_of(worker));
    update_abandon_clock(s, worker);
    health::probe_soon(s, worker);
}

void update_abandon_clock(State& s, Worker& worker) {
    const bool does_nobody_wait = worker.awaited == 0 && worker.unawaited > 0;
    if (!does_nobody_wait) return s.timers.disarm(worker.abandon_timer);
    if (!worker.abandon_timer.is_armed())
        s.timers.arm(worker.abandon_timer, patience_ends_at(s, worker));
}

void abandoned_too_long(State& s, Worker& worker) {
    for (Attempt* it = worker.aboard.front(); it != nullptr; it = it->links.after) {
        if (!it->is_unawaited()) continue;
        it->expired_unawaited = true;
        start_grace(s, *it);
    }
}

}  // namespace turnpike::cancel
