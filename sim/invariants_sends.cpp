// Attempts: whether this worker may get this job now, and what happens to attempts that nobody
// waits for or that run too long.
#include <algorithm>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

/// True if the attempt is certainly overdue: the engine has seen its timeout and its grace pass.
bool is_overdue(const KnownAttempt& attempt, const PoolSettings& rules, Instant now) {
    return attempt.timed_out_at != never && later(attempt.timed_out_at, rules.cancel_grace) < now;
}

/// Returns why this worker may take no job at all. Empty if it may.
Objection objection_to(Ledger& ledger, const KnownWorker& worker) {
    const KnownPool& pool = ledger.pool_of(worker);
    const KnownLane& lane = ledger.lane_of(worker);
    const LaneView& seen = ledger.seen_lane(lane.id);
    const KnownProof& proof = worker.proof;
    if (worker.is_ending()) return {invariant::ending, "its worker is ending"};
    if (!worker.has_loaded()) return {invariant::capacity, "its worker is not ready"};
    if (proof.has_failed) return {invariant::proof, "its worker failed its proof"};
    if (is_among(pool.failed, worker.generation))
        return {invariant::proof, "its generation failed a proof"};
    if (worker.generation != ledger.seen_pool(pool.id).good &&
        !is_among(pool.ever_good, worker.generation))
        return {invariant::reload, "its generation is not good"};
    if (worker.has_proof &&
        (!proof.has_ever_passed() || proof.needed == Sure::yes || proof.is_running()))
        return {invariant::capacity, "its worker has not proved itself"};
    if (worker.trust.needs_proof)
        return {invariant::failing_lane,
                "its worker failed job after job, and has not proved itself"};
    // In a late event, the lane may be turned off after the job was sent.
    const bool was_on = ledger.is_late && !is_off(ledger.lane_before(lane.id).state);
    if (lane.is_taken_out() || (is_off(seen.state) && !was_on))
        return {invariant::off, "its lane is off"};
    if (seen.current != worker.id)
        return {invariant::capacity, "its worker is not the lane's current one"};
    if (worker.held == Sure::yes)
        return {invariant::capacity, "a link to its worker broke, and no probe has answered since"};
    if (worker.retired == Sure::yes) return {invariant::agreement, "its worker has to leave"};
    if (worker.trust.rests_until > ledger.now)
        return {invariant::failing_lane, "its worker must rest"};
    for (const KnownAttempt* attempt : worker.aboard)
        if (is_overdue(*attempt, *pool.settings, ledger.now) && !ledger.is_late)
            return {invariant::cancel, "its worker has an overdue attempt"};
    return {};
}

/// True if another lane of the pool certainly serves, and did so before this turn.
bool does_another_serve(Ledger& ledger, const KnownLane& lane) {
    return std::ranges::any_of(ledger.pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        const LaneState then = ledger.lane_before(other.id).state;
        return other.id != lane.id && (then == LaneState::ready || then == LaneState::busy) &&
               ledger.serving_worker(other) != nullptr;
    });
}

/// Returns how many jobs of the pool may ride alone now. Reservations stay when lanes are turned off.
std::uint64_t most_lone_rides(const Ledger& ledger, const KnownPool& pool) {
    const auto reserved = std::ranges::count_if(
        pool.lanes, [&](const KnownLane& lane) { return ledger.lane_before(lane.id).is_reserved; });
    return std::max(ledger.lone_rides_max(pool), static_cast<std::uint64_t>(reserved));
}

/// During a lone ride nothing else may be aboard the lane. At most half of the lanes of a pool may be
/// used for lone rides.
Objection objection_to_company(Ledger& ledger, const KnownJob& job, const KnownWorker& worker,
                               const SendJob& send) {
    const KnownPool& pool = ledger.pool_of(worker);
    const KnownLane& lane = ledger.lane_of(worker);
    if (lane.lone_ride != nullptr)
        return {invariant::alone, "its lane carries a job that rides alone"};
    const bool was_reserved = ledger.lane_before(lane.id).is_reserved;
    const bool was_kept = ledger.seen_lane(lane.id).is_reserved && was_reserved;
    if (was_kept && !job.is_alone && pool.lone_change != ledger.turn)
        return {invariant::alone, "its lane is reserved for another"};
    if (!job.is_alone) return {};
    if (lane.riders + lane.asides > 0)
        return {invariant::alone, "it must ride alone, but others are aboard"};
    if (send.batch_size != 1)
        return {invariant::alone, "it must ride alone, but is sent in a batch"};
    if (!was_reserved && pool.lone_rides >= most_lone_rides(ledger, pool))
        return {invariant::alone, "half of the lanes carry jobs that ride alone"};
    if (job.wanted.is_none() && lane.id == job.died_on && ledger.now < job.avoids_until_lo &&
        !was_reserved && does_another_serve(ledger, lane))
        return {invariant::blame, "a worker died under it on this lane, and another lane serves"};
    return {};
}

Objection objection_to_job(Ledger& ledger, const KnownJob& job, const SendJob& send) {
    if (job.may_have_reached_worker && !ledger.pools[job.pool.value].settings->may_retry)
        return {invariant::sent_once, "it may have reached a worker before"};
    if (job.fate.must_end()) return {invariant::blame, "it had to end"};
    if (job.state == JobState::running) return {invariant::one_owner, "it runs already"};
    if (job.queue != nullptr && job.key.entry == Entry::fresh &&
        ledger.must_ride_alone(job) == Sure::yes)
        return {invariant::suspicion, "its client is suspected, so it must ride alone"};
    if (job.state == JobState::arriving &&
        (!job.is_aside || !is_among(ledger.touched_jobs, job.id)))
        return {invariant::order, "its body is not complete"};
    if (job.hash != HashStage::none)
        return {invariant::known_poison, "it may equal a known poison"};
    if (send.number != job.attempts + 1)
        return {invariant::one_owner, "the number of its attempt is wrong"};
    if (ledger.find(send.attempt) != nullptr ||
        is_among(ledger.recent_attempts, send.attempt.value))
        return {invariant::one_owner, "the id of its attempt was used before"};
    if (!job.wanted.is_none() && job.wanted != send.lane)
        return {invariant::order, "it wants another lane"};
    return {};
}

Objection objection_to_batch(Ledger& ledger, const KnownWorker& worker, const SendJob& send) {
    const KnownLane& lane = ledger.lane_of(worker);
    OpenBatch& open = ledger.open_batch;
    if (send.batch_size == 0 || send.batch_size > worker.batch)
        return {invariant::capacity, "the batch is too large"};
    if (send.batch_index != open.next ||
        (open.next != 0 && (open.worker != worker.id || open.size != send.batch_size)))
        return {invariant::capacity, "the members of a batch do not follow each other"};
    open = {.worker = worker.id, .next = send.batch_index + 1, .size = send.batch_size};
    if (open.next == open.size) open = {};
    if (send.batch_index == 0 && lane.batches.size() >= worker.slots)
        return {invariant::capacity, "every slot of its lane is taken"};
    const auto riders = std::ranges::count_if(
        worker.aboard, [](const KnownAttempt* attempt) { return !attempt->is_aside; });
    if (worker.trust.probation == Sure::yes && (riders > 0 || send.batch_size > 1))
        return {invariant::failing_lane, "its worker is on probation, and takes one job at a time"};
    return {};
}

bool is_open(Ledger& ledger, const KnownLane& lane) {
    return ledger.serving_worker(lane) != nullptr && !ledger.seen_lane(lane.id).is_reserved &&
           !ledger.lane_before(lane.id).is_reserved && lane.lone_ride == nullptr;
}

/// Objects if another job should have been sent instead, or if another lane had more room.
Objection objection_to_turn(Ledger& ledger, const KnownJob& job, const KnownWorker& worker,
                            const SendJob& send) {
    const KnownPool& pool = ledger.pool_of(worker);
    const KnownLane& lane = ledger.lane_of(worker);
    if (job.queue == nullptr || job.queue == &pool.alone) return {};
    const Objection objection = ledger.objection_to_order(job, lane);
    if (!objection.is_none()) return objection;
    if (send.batch_index != 0 || !job.wanted.is_none()) return {};
    for (const KnownLane& other : pool.lanes) {
        const std::uint32_t room = ledger.free_slots(other);
        if (other.id == lane.id || room < ledger.free_slots(lane) || !is_open(ledger, other))
            continue;
        if (room > ledger.free_slots(lane))
            return {invariant::placement, "another lane has more free slots"};
        if (other.last_job_hi < lane.last_job_lo)
            return {invariant::placement, "another lane has been idle for longer"};
        if (!other.last_job_lo && !lane.last_job_lo && other.id < lane.id &&
            other.last_job_hi == lane.last_job_hi)
            return {invariant::placement, "a lane with a lower number is as good"};
    }
    return {};
}

Objection objection_to_aside(Ledger& ledger, const KnownJob& job, const KnownWorker& worker) {
    const KnownPool& pool = ledger.pool_of(worker);
    const KnownLane& lane = ledger.lane_of(worker);
    if (lane.asides >= pool.settings->aside_max)
        return {invariant::bounds, "its lane has aside_max asides"};
    if (!job.wanted.is_none()) return {};
    for (const KnownLane& other : pool.lanes)
        if (other.asides < lane.asides && is_open(ledger, other))
            return {invariant::placement, "another lane has fewer asides"};
    return {};
}

Objection objection_to_send(Ledger& ledger, const KnownJob& job, const KnownWorker& worker,
                            const SendJob& send) {
    if (worker.lane != send.lane || worker.pool != job.pool)
        return {invariant::one_owner, "its worker belongs elsewhere"};
    for (const Objection& objection :
         {objection_to_job(ledger, job, send), objection_to(ledger, worker),
          objection_to_company(ledger, job, worker, send)})
        if (!objection.is_none()) return objection;
    if (job.is_aside) return objection_to_aside(ledger, job, worker);
    const Objection objection = objection_to_batch(ledger, worker, send);
    return objection.is_none() ? objection_to_turn(ledger, job, worker, send) : objection;
}

/// After the last job of a batch: if the batch has room, no job may wait that could join it.
void check_batch(Ledger& ledger, const KnownWorker& worker, const SendJob& send) {
    const KnownPool& pool = ledger.pool_of(worker);
    const KnownLane& lane = ledger.lane_of(worker);
    if (send.batch_index + 1 != send.batch_size || send.batch_size == worker.batch ||
        lane.lone_ride != nullptr)
        return;
    if (!Ledger::has_next(pool) && ledger.next_pinned(lane) == nullptr) return;
    if (is_open(ledger, lane))
        broken(ledger, invariant::no_idle, "the batch of attempt {} has room, and jobs wait",
               show(send.attempt));
}

void check_abandoned(Ledger& ledger, const KnownAttempt& attempt) {
    const KnownWorker& worker = *attempt.worker;
    if (attempt.is_over() || worker.is_ending()) return;
    const CancelPolicy policy =
        attempt.is_aside ? CancelPolicy::close : ledger.pool_of(worker).settings->cancel;
    switch (policy) {
        case CancelPolicy::finish:
            if (attempt.stage == AttemptStage::answering && !attempt.is_cancelled)
                broken(ledger, invariant::cancel,
                       "attempt {} has begun its answer and is abandoned, but not cancelled",
                       show(attempt.id));
            return;
        case CancelPolicy::close:
            if (!attempt.is_cancelled)
                broken(ledger, invariant::cancel, "attempt {} is abandoned, but not cancelled",
                       show(attempt.id));
            return;
        case CancelPolicy::kill:
            broken(ledger, invariant::cancel,
                   "attempt {} is abandoned, but its worker is not killed", show(attempt.id));
            return;
    }
}

/// The engine looks at an attempt after slow_min, and again whenever its run time has doubled. So
/// it must have reported every attempt that has run for twice the limit.
void check_slow(Ledger& ledger, const KnownAttempt& attempt) {
    const KnownPool& pool = ledger.pool_of(*attempt.worker);
    const Duration usual = ledger.seen_pool(pool.id).usual_run;
    const bool is_decidable = !attempt.is_aside && attempt.job != nullptr &&
                              attempt.was_usual_known && pool.usual_since <= attempt.sent;
    if (!is_decidable || attempt.was_reported_slow || usual == Duration::zero()) return;
    const Duration seen_by =
        std::max(pool.settings->slow_min, 2 * usual * pool.settings->slow_factor);
    if (ledger.now - attempt.sent >= seen_by)
        broken(ledger, invariant::slow,
               "attempt {} has run for {}, the usual run is {}, and it is not reported slow",
               show(attempt.id), show(ledger.now - attempt.sent), show(usual));
}

}  // namespace

void judge(Ledger& ledger, const SendJob& send) {
    KnownJob* job = ledger.find(send.job);
    KnownWorker* worker = ledger.find(send.worker);
    if (job == nullptr)
        return broken(ledger, invariant::one_owner, "job {} is sent, but does not exist",
                      show(send.job));
    if (worker == nullptr)
        return broken(ledger, invariant::ending, "job {} is sent to {}, which is gone",
                      show(send.job), show(send.worker));
    const Objection objection = objection_to_send(ledger, *job, *worker, send);
    if (!objection.is_none())
        return broken(ledger, objection.invariant, "job {} is sent to worker {} of lane {}, but {}",
                      show(send.job), show(send.worker), show(send.lane), objection.why);
    ledger.ride(*job, *worker, send);
    ledger.settle_suspects();
    if (!job->is_aside) check_batch(ledger, *worker, send);
}

void judge(Ledger& ledger, const CancelAttempt& cancel) {
    KnownAttempt* attempt = ledger.find(cancel.attempt);
    if (attempt == nullptr || attempt->worker->id != cancel.worker ||
        (attempt->is_over() && !ledger.is_late))
        return broken(ledger, invariant::ending, "attempt {} is cancelled, but not aboard",
                      show(cancel.attempt));
    if (attempt->is_over()) return;
    if (attempt->worker->is_ending())
        return broken(ledger, invariant::ending,
                      "attempt {} is cancelled, but its worker is ending", show(cancel.attempt));
    if (attempt->is_cancelled)
        return broken(ledger, invariant::cancel, "attempt {} is cancelled twice",
                      show(cancel.attempt));
    if (!attempt->is_aside && attempt->stage != AttemptStage::answering &&
        ledger.pool_of(*attempt->worker).settings->cancel != CancelPolicy::close)
        return broken(ledger, invariant::cancel, "attempt {} is cancelled against the policy",
                      show(cancel.attempt));
    attempt->is_cancelled = true;
    ledger.cancelled_now.push_back(attempt);
}

void judge(Ledger& ledger, const ReportSlowJob& report) {
    KnownAttempt* attempt = ledger.find(report.attempt);
    if (attempt == nullptr || attempt->worker->id != report.worker || attempt->job_id != report.job)
        return broken(ledger, invariant::slow, "attempt {} is reported slow, but not aboard",
                      show(report.attempt));
    const KnownPool& pool = ledger.pool_of(*attempt->worker);
    const Duration run = ledger.now - attempt->sent;
    if (attempt->was_reported_slow)
        return broken(ledger, invariant::slow, "attempt {} is reported slow twice",
                      show(report.attempt));
    attempt->was_reported_slow = true;
    const bool is_usual_possible = pool.answered_hi >= pool.settings->slow_samples_min &&
                                   report.usual >= pool.fastest && report.usual <= pool.slowest;
    if (!is_usual_possible)
        return broken(ledger, invariant::slow,
                      "the report names {} as the usual run, which it never was in pool {}",
                      show(report.usual), show(pool.id));
    if (run < pool.settings->slow_min || run < report.usual * pool.settings->slow_factor)
        broken(ledger, invariant::slow,
               "attempt {} is reported slow after {}, but the usual run is {}",
               show(report.attempt), show(run), show(report.usual));
}

void check_attempt_times(Ledger& ledger) {
    if (ledger.open_batch.next != 0) broken(ledger, invariant::capacity, "a batch is not complete");
    for (const KnownAttempt* attempt : ledger.abandoned_now) check_abandoned(ledger, *attempt);
    for (const KnownAttempt* attempt : ledger.cancelled_now)
        if (attempt->job != nullptr && !attempt->is_over())
            broken(ledger, invariant::cancel, "attempt {} is cancelled, but its job lives",
                   show(attempt->id));
    if (!ledger.is_time_event && !ledger.is_late) return;
    for (auto& [id, attempt] : ledger.attempts) {
        if (attempt.is_over()) continue;
        const PoolSettings& rules = *ledger.pool_of(*attempt.worker).settings;
        if (later(attempt.moved, rules.job_timeout) <= ledger.now && attempt.timed_out_at == never)
            attempt.timed_out_at = ledger.now;
        if (!ledger.is_time_event) continue;
        if (attempt.job != nullptr && attempt.timed_out_at != never)
            return broken(ledger, invariant::in_time, "job {} outlives job_timeout",
                          show(attempt.job_id));
        check_slow(ledger, attempt);
    }
}

}  // namespace turnpike::sim
