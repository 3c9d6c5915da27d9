#include "core/attempt.h"

#include <algorithm>

#include "core/blame.h"
#include "core/cancel.h"
#include "core/event.h"
#include "core/health.h"
#include "core/placement.h"
#include "core/restart.h"
#include "core/state.h"
#include "core/trust.h"

namespace turnpike::attempt {

namespace {

bool is_slow(const Pool& pool, Duration run) {
    const Duration usual = std::min<Duration>(pool.pace.usual(), 24h);
    return pool.pace.samples() >= pool.settings.slow_samples_min && run >= pool.settings.slow_min &&
           run >= usual * pool.settings.slow_factor;
}

void arm(State& s, Attempt& attempt) {
    const Duration timeout = s.pool_of(attempt).settings.job_timeout;
    s.timers.arm(attempt.timer, std::min(later(attempt.renewed, timeout), attempt.slow_check_at));
}

Attempt& board(State& s, Worker& worker, Job& job, std::uint32_t slot) {
    Attempt& attempt = s.attempts.add();
    Pool& pool = s.pool_of(worker);
    attempt.job = job.id;
    attempt.client = job.line->client->id;
    attempt.is_pinned = !job.wanted.is_none();
    attempt.worker = &worker;
    attempt.slot = slot;
    attempt.sent = attempt.renewed = s.now;
    attempt.slow_check_at = later(s.now, pool.settings.slow_min);
    attempt.timer = {.kind = TimerKind::attempt, .owner = attempt.id.value};
    arm(s, attempt);
    worker.aboard.push_back(attempt);
    if (attempt.is_awaited()) ++worker.awaited, s.timers.disarm(worker.abandon_timer);
    health::job_sent(worker);
    job.state = JobState::running;
    job.since = s.now;
    job.attempt = attempt.id;
    job.lane = worker.lane;
    ++job.attempts;
    ++pool.running;
    return attempt;
}

/// Returns the next job for the lane, from the pool's rounds or the lane's own queue, or nullptr if
/// none may go. Jobs of one client go in their order. Otherwise the client goes first that has waited
/// longer for a turn.
Job* next_for(const State& s, const Lane& lane) {
    const Pool& pool = s.pool_of(lane);
    const Duration age_step = pool.settings.age_step;
    const Candidate shared = pool.rounds.next(age_step);
    if (lane.queue.empty()) return shared.job;
    const Candidate pinned = lane.queue.next_in_turn(age_step);
    if (shared.job == nullptr || pinned.job == nullptr)
        return shared.job == nullptr ? pinned.job : shared.job;
    const bool is_by_turn =
        !shared.job->is_retry && !pinned.job->is_retry && shared.job->line != pinned.job->line;
    const bool does_pinned_go =
        is_by_turn ? pinned.rank < shared.rank : is_before(*pinned.job, *shared.job, age_step);
    return does_pinned_go ? pinned.job : shared.job;
}

/// Takes the next job for the lane out of its queue, or returns nullptr if none may go. A job of a
/// suspected client stays queued, to ride alone.
Job* take_next(State& s, Lane& lane) {
    Pool& pool = s.pool_of(lane);
    while (Job* job = next_for(s, lane)) {
        Line& line = *job->line;
        const bool is_fresh = !job->is_retry;
        const bool rides_alone = is_fresh && s.must_ride_alone(line);
        rides_alone ? job::set_apart(s, *job, lane) : job::dequeue(s, *job);
        if (is_fresh) pool.rounds.had_turn(*job, s.now);
        if (!rides_alone) return job;
    }
    return nullptr;
}

EndReason reason_for(Verdict verdict) {
    switch (verdict) {
        case Verdict::answered: return EndReason::answered;
        case Verdict::bad_input: return EndReason::bad_input;
        case Verdict::non_finite: return EndReason::non_finite;
        case Verdict::out_of_memory: return EndReason::out_of_memory;
        case Verdict::shortage: return EndReason::shortage;
        case Verdict::model_failed:
        case Verdict::unhealthy:
        case Verdict::broken:
        case Verdict::undelivered:
        case Verdict::cancelled:
        case Verdict::closed:
        case Verdict::stale: return EndReason::model_failed;
    }
    return EndReason::model_failed;
}

/// Reports the attempt if it is slow. Otherwise checks again when it has run twice as long.
void check_pace(State& s, Attempt& attempt) {
    const Pool& pool = s.pool_of(attempt);
    const Duration run = s.now - attempt.sent;
    attempt.slow_check_at = later(s.now, std::max<Duration>(run, 1ms));
    if (!is_slow(pool, run)) return;
    attempt.slow_check_at = never;
    if (s.jobs.find(attempt.job) != nullptr)
        s.act(ReportSlowJob{attempt.job, attempt.id, attempt.worker->id, pool.pace.usual()});
}

/// Returns the attempt if it is alive on this worker, or nullptr if the message came too late. A
/// worker that names the attempt of another worker misbehaves and is killed.
Attempt* find(State& s, WorkerId worker_id, AttemptId id) {
    Worker* worker = s.workers.find(worker_id);
    Attempt* attempt = s.attempts.find(id);
    if (worker == nullptr || attempt == nullptr || worker->state == WorkerState::stopping)
        return nullptr;
    if (attempt->worker == worker) return attempt;
    worker::bring_down(s, *worker, Reason::misbehaved, Stop::kill);
    return nullptr;
}

/// Ends an attempt that the gate could not send, or whose answer it could not take. This says nothing
/// about the worker or the model. The job is not sent again, because the shortage may last.
void fell_short(State& s, Attempt& attempt) {
    Lane& lane = s.lane_of(*attempt.worker);
    Job* job = s.jobs.find(attempt.job);
    release(s, attempt);
    if (job == nullptr) return;
    ++lane.failed;
    job::end(s, *job, EndReason::shortage);
}

void finished(State& s, Attempt& attempt, Verdict verdict) {
    Worker& worker = *attempt.worker;
    Lane& lane = s.lane_of(worker);
    Pool& pool = s.pool_of(lane);
    Job* job = s.jobs.find(attempt.job);
    const bool was_aside = attempt.is_aside();
    const trust::JobRun run{
        .sent = attempt.sent, .client = attempt.client, .is_pinned = attempt.is_pinned};
    const bool was_asked = attempt.was_cancel_sent || attempt.is_closed;
    if (verdict == Verdict::cancelled && !was_asked) verdict = Verdict::model_failed;
    if (verdict == Verdict::answered && !was_aside)
        pool.pace.add(s.now - attempt.sent, attempt.batch_size);
    release(s, attempt);
    if (verdict != Verdict::cancelled) {
        health::worker_answered(worker);
        if (!was_aside) restart::job_answered(s, lane);
    }
    if (job != nullptr) {
        const EndReason reason = reason_for(verdict);
        ++(outcome_of(reason) == Outcome::finished ? lane.finished : lane.failed);
        job::end(s, *job, reason);
    }
    if (!was_aside) trust::attempt_ended(s, worker, verdict, run);
}

}  // namespace

bool send_next(State& s, Lane& lane) {
    Worker& worker = *lane.current;
    const std::size_t most = worker.is_on_probation ? 1 : worker.batch;
    s.batch.clear();
    while (s.batch.size() < most) {
        Job* job = take_next(s, lane);
        if (job == nullptr) break;
        s.batch.push_back(job);
    }
    const auto size = static_cast<std::uint32_t>(s.batch.size());
    if (size == 0) return false;
    CHECK(!worker.slots_idle.empty());
    const std::uint32_t slot = worker.slots_idle.back();
    worker.slots_idle.pop_back();
    worker.slot_loads[slot] = size;
    for (std::uint32_t i = 0; i < size; ++i) {
        Job& job = *s.batch[i];
        Attempt& attempt = board(s, worker, job, slot);
        attempt.batch_size = size;
        s.act(SendJob{worker.id, lane.id, job.id, attempt.id, job.attempts, i, size});
    }
    lane.last_job = s.now;
    placement::refresh(s, lane);
    return true;
}

void send_alone(State& s, Lane& lane, Job& job) {
    Worker& worker = *lane.current;
    std::uint32_t slot = Attempt::no_slot;
    if (job.is_aside) {
        ++worker.asides;
    } else {
        job::dequeue(s, job);
        CHECK(!worker.slots_idle.empty());
        slot = worker.slots_idle.back();
        worker.slots_idle.pop_back();
        worker.slot_loads[slot] = 1;
        lane.last_job = s.now;
    }
    const Attempt& attempt = board(s, worker, job, slot);
    s.act(SendJob{worker.id, lane.id, job.id, attempt.id, job.attempts, 0, 1});
    placement::refresh(s, lane);
}

void begun(State& s, const AnswerBegun& event) {
    Attempt* attempt = find(s, event.worker, event.attempt);
    if (attempt == nullptr || attempt->state != AttemptState::running) return;
    attempt->renewed = s.now;
    attempt->has_begun = true;
    s.jobs.find(attempt->job)->has_answer_begun = true;
}

void moved(State& s, const AnswerMoved& event) {
    Attempt* attempt = find(s, event.worker, event.attempt);
    if (attempt != nullptr && attempt->state == AttemptState::running) attempt->renewed = s.now;
}

void ended(State& s, const AttemptEnded& event) {
    Attempt* attempt = find(s, event.worker, event.attempt);
    if (attempt == nullptr) return;
    Worker& worker = *attempt->worker;
    switch (event.verdict) {
        case Verdict::unhealthy:
            return worker::bring_down(s, worker, Reason::unhealthy, Stop::kill);
        case Verdict::broken: blame::attempt_broke(s, *attempt); return health::doubt(s, worker);
        case Verdict::undelivered:
            blame::not_delivered(s, *attempt);
            return health::doubt(s, worker);
        case Verdict::answered:
        case Verdict::bad_input:
        case Verdict::model_failed:
        case Verdict::non_finite:
        case Verdict::out_of_memory:
        case Verdict::cancelled: return finished(s, *attempt, event.verdict);
        case Verdict::shortage: return fell_short(s, *attempt);
        case Verdict::closed:
            if (attempt->state == AttemptState::running)  // nobody asked it to cancel
                return finished(s, *attempt, Verdict::model_failed);
            return cancel::closed(s, *attempt);
        case Verdict::stale:
            if (blame::was_stale(s, *attempt)) return;
            blame::attempt_broke(s, *attempt);
            return health::doubt(s, worker);
    }
}

void time_is_up(State& s, Attempt& attempt) {
    const Pool& pool = s.pool_of(attempt);
    if (s.now >= attempt.slow_check_at) check_pace(s, attempt);
    if (attempt.state == AttemptState::expired) return cancel::grace_is_over(s, attempt);
    if (s.now >= later(attempt.renewed, pool.settings.job_timeout))
        return cancel::expire(s, attempt);
    arm(s, attempt);
}

void probe_answered(State& s, Worker& worker, std::uint32_t probe) {
    Attempt* next = nullptr;
    for (Attempt* it = worker.aboard.front(); it != nullptr; it = next) {
        next = it->links.after;
        if (!it->is_closed || it->closed_at_probe >= probe) continue;
        // It may have answered the probe beside the work.
        const Instant longest = later(it->renewed, s.pool_of(worker).settings.job_timeout);
        worker.perhaps_busy_until = std::max(worker.perhaps_busy_until, longest);
        finished(s, *it, Verdict::cancelled);
    }
}

void release(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    Lane& lane = s.lane_of(worker);
    worker.aboard.remove(attempt);
    if (attempt.is_awaited()) --worker.awaited;
    if (attempt.is_unawaited()) --worker.unawaited;
    if (attempt.is_closed) --worker.closed;
    if (worker.awaited == 0) cancel::update_abandon_clock(s, worker);
    if (attempt.state == AttemptState::overdue) cancel::overdue_ended(s, worker);
    if (attempt.is_aside()) {
        --worker.asides;
    } else {
        lane.last_job = s.now;
        if (--worker.slot_loads[attempt.slot] == 0) worker.slots_idle.push_back(attempt.slot);
    }
    s.timers.disarm(attempt.timer);
    s.attempts.remove(attempt);
    s.touch(lane);
}

}  // namespace turnpike::attempt
