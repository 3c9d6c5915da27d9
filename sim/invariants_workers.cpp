// Workers: which may be started, what may end one, and that every worker that has to end does.
#include <algorithm>
#include <variant>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

/// Returns how many workers certainly hold a turn to load. Attached workers need none.
std::uint64_t loading(const Ledger& ledger) {
    return static_cast<std::uint64_t>(std::ranges::count_if(ledger.workers, [&](const auto& entry) {
        return ledger.is_owned(entry.second) && !entry.second.has_loaded() &&
               !entry.second.is_ending();
    }));
}

Objection objection_to_generation(Ledger& ledger, const KnownPool& pool, const StartWorker& start) {
    const PoolView& then = ledger.pool_before(pool.id);
    const PoolView& seen = ledger.seen_pool(pool.id);
    if (start.generation == then.good || start.generation == seen.good) return {};
    if (start.generation != then.reloading && start.generation != seen.reloading)
        return {invariant::reload, "its generation is not good"};
    if (!is_among(pool.asked, start.generation))
        return {invariant::reload, "nobody asked for its generation"};
    if (is_among(pool.failed, start.generation))
        return {invariant::proof, "its generation failed a proof"};
    return {};
}

/// True if a reload beside was asked for with code newer than the older of the two. The old worker
/// may then still be finishing its jobs while even newer code is loaded in place.
bool may_live_together(const KnownPool& pool, Generation a, Generation b) {
    const Generation older = std::min(a, b);
    return std::ranges::any_of(pool.kinds, [&](const auto& entry) {
        return entry.second == ReloadKind::beside && older < entry.first;
    });
}

/// A lane has one worker, or two while a new generation is loaded beside the old one.
Objection objection_to_neighbour(const KnownPool& pool, const KnownLane& lane,
                                 const StartWorker& start) {
    if (lane.workers.empty()) return {};
    if (lane.workers.size() > 1) return {invariant::bounds, "its lane has two workers"};
    const KnownWorker& other = *lane.workers.front();
    if (other.is_ending()) return {invariant::restart, "its predecessor is not gone"};
    if (!may_live_together(pool, other.generation, start.generation) ||
        (other.generation == start.generation && !pool.had_odd_reload))
        return {invariant::restart, "its predecessor still runs"};
    return {};
}

Objection objection_to_lane(Ledger& ledger, const KnownLane& lane, const StartWorker& start) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const bool tries_again = seen.state == LaneState::failed && !lane.is_taken_out();
    if (tries_again && lane.outage.retry_at > ledger.now)
        return {invariant::revival, "it is too early for another try of a failed lane"};
    if (tries_again && ledger.shutdown_asked_at < lane.outage.retry_at)
        return {invariant::revival, "a failed lane does not try again during a shutdown"};
    if (tries_again && !ledger.pool_before(lane.pool).reloading.is_none() &&
        !ledger.seen_pool(lane.pool).reloading.is_none())
        return {invariant::revival, "a failed lane does not try again during a reload"};
    if (lane.is_taken_out() || (is_off(seen.state) && !tries_again))
        return {invariant::off, "the lane is off"};
    if (!lane.workers.empty()) return {};
    if (lane.memory_held == Sure::yes)
        return {invariant::restart, "the memory of its predecessor is not free"};
    const bool is_ordinary = start.generation == ledger.pool_before(lane.pool).good;
    if (is_ordinary && lane.outage.must_stay_down && !tries_again)
        return {invariant::off, "the lane had to stay down"};
    if (is_ordinary && ledger.now < lane.not_before && !tries_again)
        return {invariant::restart, "its delay is not over"};
    return {};
}

Objection objection_to_start(Ledger& ledger, const KnownPool& pool, const KnownLane& lane,
                             const StartWorker& start) {
    if (ledger.find(start.worker) != nullptr || is_among(ledger.recent_workers, start.worker.value))
        return {invariant::one_owner, "its id was used before"};
    for (const Objection& objection :
         {objection_to_generation(ledger, pool, start), objection_to_neighbour(pool, lane, start),
          objection_to_lane(ledger, lane, start)})
        if (!objection.is_none()) return objection;
    const std::uint64_t loading_max = ledger.settings.load_parallel_max;
    if (loading_max != 0 && pool.settings->ownership == Ownership::owned &&
        loading(ledger) >= loading_max)
        return {invariant::bounds, "load_parallel_max workers are loading"};
    if (ledger.has_left ||
        (ledger.is_shutting_down && ledger.jobs.empty() && ledger.before.jobs == 0))
        return {invariant::shutdown, "the engine shuts down, and no job needs it"};
    return {};
}

bool has_unwanted_rider(const Ledger& ledger, const KnownWorker& worker,
                        const PoolSettings& rules) {
    return std::ranges::any_of(worker.aboard, [&](const KnownAttempt* attempt) {
        if (attempt->is_aside) return false;
        return attempt->job == nullptr || attempt->job->fate.must_end() ||
               attempt->job->deadline <= ledger.now ||
               ledger.now - attempt->moved >= rules.job_timeout;
    });
}

bool is_overdue(const Ledger& ledger, const KnownAttempt& attempt, const PoolSettings& rules) {
    return ledger.now - attempt.moved >= rules.job_timeout + rules.cancel_grace;
}

/// True if the time that the worker has when nobody waits may have run out, and cancel_grace, too.
bool is_forsaken_for_long(const Ledger& ledger, const KnownAttempt& attempt,
                          const PoolSettings& rules) {
    return attempt.expired_lo != never && attempt.expired_lo + rules.cancel_grace <= ledger.now;
}

bool all_are_overdue(const Ledger& ledger, const KnownWorker& worker, const PoolSettings& rules) {
    return !worker.aboard.empty() &&
           std::ranges::all_of(worker.aboard, [&](const KnownAttempt* attempt) {
               return attempt->job == nullptr &&
                      (attempt->is_closed() || is_overdue(ledger, *attempt, rules) ||
                       is_forsaken_for_long(ledger, *attempt, rules));
           });
}

/// True if the worker may have had to leave for a reason other than its attempts. Then the engine need not
/// remember why they are overdue.
bool may_retire_for_another_reason(Ledger& ledger, const KnownWorker& worker) {
    const WorkerPast& past = worker.past;
    return worker.retired != Sure::no || past.was_drained || past.was_failed ||
           past.restarts_asked > 0 || !ledger.pool_of(worker).asked.empty();
}

/// True if newer code was asked for before this generation served.
bool is_outdated(const KnownPool& pool, Generation generation) {
    return !is_among(pool.ever_good, generation) && generation < pool.newest;
}

/// True if the engine may kill the worker for this reason without asking it to stop first.
bool is_cause_to_kill(Ledger& ledger, const KnownWorker& worker, Reason reason) {
    const PoolSettings& rules = *ledger.pool_of(worker).settings;
    const KnownLane& lane = ledger.lane_of(worker);
    switch (reason) {
        case Reason::exited: return worker.exited_at != never;
        case Reason::load_silent:
            return rules.ownership == Ownership::owned && !worker.has_loaded() &&
                   ledger.now - worker.progressed_lo >= rules.load_timeout;
        case Reason::misbehaved:
        case Reason::unhealthy: return worker.past.has_crashed && worker.killed_at == never;
        case Reason::not_answering: {
            const KnownProbe& probe = worker.probe;
            const bool is_silent = probe.out && probe.clean != Sure::no &&
                                   later(probe.last_sent, rules.probe_timeout) <= ledger.now;
            return probe.was_refused ||
                   probe.failures_hi + (is_silent ? 1 : 0) >= rules.probe_failures_max;
        }
        case Reason::proof_silent:
            return worker.proof.is_running() &&
                   ledger.now - worker.proof.sent >= rules.proof_timeout;
        case Reason::job_stuck:
            return all_are_overdue(ledger, worker, rules) &&
                   std::ranges::any_of(worker.aboard, [&](const KnownAttempt* attempt) {
                       return is_overdue(ledger, *attempt, rules) ||
                              (may_retire_for_another_reason(ledger, worker) &&
                               is_forsaken_for_long(ledger, *attempt, rules));
                   });
        case Reason::job_abandoned:
            return all_are_overdue(ledger, worker, rules) &&
                   std::ranges::any_of(worker.aboard, [&](const KnownAttempt* attempt) {
                       return is_forsaken_for_long(ledger, *attempt, rules);
                   });
        case Reason::job_cancelled:
            return rules.cancel == CancelPolicy::kill && has_unwanted_rider(ledger, worker, rules);
        case Reason::gpu_lost: return lane.outage.is_gpu_lost;
        case Reason::restart_asked:
            return worker.past.restarts_asked >= 2 ||
                   (worker.past.restarts_asked == 1 && worker.killed_at != never);
        case Reason::shutting_down:
            return ledger.is_shutting_down && ledger.shutdown_by <= ledger.now;
        case Reason::proof_failed: return worker.proof.has_failed;
        case Reason::reload_abandoned:
            return worker.generation != ledger.seen_pool(worker.pool).good;
        case Reason::replaced: return is_outdated(ledger.pool_of(worker), worker.generation);
        case Reason::none:
        case Reason::disagrees:
        case Reason::will_not_die:
        case Reason::shortage:
        case Reason::drain_asked:
        case Reason::trying_again:
        case Reason::worker_away:
        case Reason::crashed_too_often:
        case Reason::memory_held:
        case Reason::turn_to_load:
        case Reason::failing_jobs:
        case Reason::link_doubted:
        case Reason::proof_due: return false;
    }
    return false;
}

/// True if an in-place reload has already begun on another lane. Such a reload tries one lane
/// first.
bool is_tried_elsewhere(const Ledger& ledger, const KnownPool& pool, const KnownWorker& worker) {
    return std::ranges::any_of(pool.lanes, [&](const KnownLane& lane) {
        const bool has_failed = ledger.seen_lane(lane.id).state == LaneState::failed;
        return !lane.outage.is_drained && lane.id != worker.lane && !has_failed &&
               std::ranges::any_of(lane.workers, [&](const KnownWorker* other) {
                   // The try of a failed lane, which a person has restarted since, made no room.
                   const bool has_made_room = other->end_reason == Reason::replaced &&
                                              other->stopped_turn >= pool.reload_turn &&
                                              !other->is_gone() && !other->past.is_try;
                   return has_made_room || (other->generation == pool.tried && !other->is_ending());
               });
    });
}

/// True if another generation may replace this worker: the good one, or one that is tried in its
/// place.
bool is_replaced(Ledger& ledger, const KnownWorker& worker) {
    const KnownPool& pool = ledger.pool_of(worker);
    const PoolView& seen = ledger.seen_pool(pool.id);
    if (worker.generation != seen.good || pool.had_odd_reload) return !pool.asked.empty();
    // A failed lane stops its try when a reload begins.
    if (ledger.lane_before(worker.lane).state == LaneState::failed) return !pool.asked.empty();
    if (ledger.lane_of(worker).outage.is_drained) return !pool.asked.empty();
    const bool is_reloading =
        !seen.reloading.is_none() || !ledger.pool_before(pool.id).reloading.is_none();
    // Several reloads may have begun in one turn. From outside that looks the same.
    const bool may_be_several = pool.asked.size() > 1;
    return pool.was_asked_as(pool.tried, ReloadKind::in_place) && is_reloading &&
           (may_be_several || !is_tried_elsewhere(ledger, pool, worker));
}

bool is_cause_to_stop(Ledger& ledger, const KnownWorker& worker, Reason reason) {
    const KnownPool& pool = ledger.pool_of(worker);
    switch (reason) {
        case Reason::drain_asked:
            return ledger.lane_of(worker).outage.is_drained ||
                   (worker.past.was_drained && !pool.asked.empty());
        case Reason::restart_asked: return worker.past.restarts_asked > 0;
        case Reason::proof_failed: return worker.proof.has_failed;
        case Reason::disagrees: return worker.past.perhaps_disagreed;
        case Reason::replaced: return is_replaced(ledger, worker);
        case Reason::reload_abandoned: return !pool.asked.empty();
        case Reason::shutting_down: return ledger.is_shutting_down;
        case Reason::will_not_die:
            return ledger.seen_lane(worker.lane).state == LaneState::quarantined;
        case Reason::crashed_too_often:
            return worker.past.was_failed ||
                   ledger.seen_lane(worker.lane).state == LaneState::failed;
        case Reason::none:
        case Reason::exited:
        case Reason::load_silent:
        case Reason::misbehaved:
        case Reason::unhealthy:
        case Reason::not_answering:
        case Reason::proof_silent:
        case Reason::job_stuck:
        case Reason::job_abandoned:
        case Reason::job_cancelled:
        case Reason::gpu_lost:
        case Reason::shortage:
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

std::string_view invariant_of_cause(Reason reason) {
    if (reason == Reason::job_stuck || reason == Reason::job_cancelled) return invariant::cancel;
    if (reason == Reason::job_abandoned) return invariant::leavers;
    if (reason == Reason::disagrees) return invariant::agreement;
    return invariant::ending;
}

void check_waits(Ledger& ledger, const KnownWorker& worker) {
    const PoolSettings& rules = *ledger.pool_of(worker).settings;
    const auto is_over = [&](Instant from, Duration wait) {
        return from != never && later(from, wait) <= ledger.now;
    };
    if (is_over(worker.stopped_at, rules.stop_grace) && worker.killed_at == never)
        return broken(ledger, invariant::clock, "worker {} did not stop in time, but is not killed",
                      show(worker.id));
    if (worker.is_ending()) return;
    if (!worker.has_loaded() && rules.ownership == Ownership::owned &&
        is_over(worker.progressed_hi, rules.load_timeout))
        return broken(ledger, invariant::clock,
                      "worker {} makes no progress with its load, but is not killed",
                      show(worker.id));
    if (worker.proof.is_running() && is_over(worker.proof.sent, rules.proof_timeout))
        return broken(ledger, invariant::clock,
                      "worker {} does not answer its proof, but is not killed", show(worker.id));
    const auto is_stuck = [&](const KnownAttempt* attempt) {
        return is_over(attempt->timed_out_at, rules.cancel_grace);
    };
    const bool are_all_stuck = std::ranges::any_of(worker.aboard, is_stuck) &&
                               std::ranges::all_of(worker.aboard, [&](const KnownAttempt* attempt) {
                                   return is_stuck(attempt) || attempt->is_closed();
                               });
    const bool was_forsaken = std::ranges::any_of(
        worker.aboard, [](const KnownAttempt* it) { return it->expired_lo != never; });
    if (are_all_stuck)
        broken(ledger, was_forsaken ? invariant::abandoned : invariant::cancel,
               "all attempts of worker {} are overdue, but it is not killed", show(worker.id));
}

/// The lane of a worker that survives its kill must be quarantined.
void check_survivor(Ledger& ledger, KnownWorker& worker) {
    if (worker.killed_at == never || worker.past.was_given_up) return;
    if (later(worker.killed_at, ledger.pool_of(worker).settings->kill_patience) > ledger.now)
        return;
    worker.past.was_given_up = true;
    if (ledger.seen_lane(worker.lane).state != LaneState::quarantined)
        broken(ledger, invariant::clock,
               "worker {} survived its kill, but lane {} is not quarantined", show(worker.id),
               show(worker.lane));
}

}  // namespace

void judge(Ledger& ledger, const StartWorker& start) {
    KnownLane* lane = ledger.find(start.lane);
    if (lane == nullptr)
        return broken(ledger, invariant::one_owner,
                      "worker {} is started on a lane that does not exist", show(start.worker));
    const Objection objection =
        objection_to_start(ledger, ledger.pools[lane->pool.value], *lane, start);
    if (!objection.is_none())
        return broken(ledger, objection.invariant, "worker {} is started on lane {}, but {}",
                      show(start.worker), show(start.lane), objection.why);
    KnownWorker& worker = ledger.workers[start.worker];
    worker.id = start.worker;
    worker.lane = lane->id;
    worker.pool = lane->pool;
    worker.generation = start.generation;
    const PoolSettings& rules = *ledger.pools[lane->pool.value].settings;
    worker.slots = rules.slots;
    worker.batch = rules.batch;
    worker.has_proof = rules.proof != ProofKind::none;
    worker.started_at = worker.progressed_lo = worker.progressed_hi = worker.idle_since =
        ledger.now;
    worker.trust.rests_until = ledger.now;
    worker.past.is_try = ledger.seen_lane(lane->id).state == LaneState::failed;
    if (worker.past.is_try) lane->not_before = ledger.now, lane->outage.may_fail_again = true;
    lane->workers.push_back(&worker);
    ++lane->starts;
    lane->must_start = lane->outage.must_stay_down = false;
}

void judge(Ledger& ledger, const StopWorker& stop) {
    KnownWorker* worker = ledger.find(stop.worker);
    if (worker == nullptr)
        return broken(ledger, invariant::ending, "worker {} is stopped, but is gone",
                      show(stop.worker));
    if (worker->is_ending())
        return broken(ledger, invariant::ending, "worker {} is stopped, but is already ending",
                      show(stop.worker));
    if (std::ranges::any_of(worker->aboard,
                            [](const KnownAttempt* attempt) { return attempt->job != nullptr; }))
        return broken(ledger, invariant::ending, "worker {} is stopped with a job aboard",
                      show(stop.worker));
    if (!is_cause_to_stop(ledger, *worker, stop.reason))
        return broken(ledger, invariant_of_cause(stop.reason),
                      "worker {} is stopped for {}, which is not true", show(stop.worker),
                      name_of(stop.reason));
    if (stop.reason == Reason::disagrees) ledger.allow_restart_delay(*worker);
    ledger.die(*worker, Ledger::Death::ordered);
    worker->stopped_at = ledger.now;
    worker->stopped_turn = ledger.turn;
    worker->end_reason = stop.reason;
}

void judge(Ledger& ledger, const KillWorker& kill) {
    KnownWorker* worker = ledger.find(kill.worker);
    if (worker == nullptr || (worker->is_gone() && !ledger.is_late))
        return broken(ledger, invariant::ending, "worker {} is killed, but is gone",
                      show(kill.worker));
    const PoolSettings& rules = *ledger.pool_of(*worker).settings;
    const bool was_stop_ignored =
        worker->stopped_at != never && later(worker->stopped_at, rules.stop_grace) <= ledger.now;
    if (!was_stop_ignored && worker->exited_at == never &&
        !is_cause_to_kill(ledger, *worker, kill.reason))
        return broken(ledger, invariant_of_cause(kill.reason),
                      "worker {} is killed for {}, which is not true", show(kill.worker),
                      name_of(kill.reason));
    if (worker->end_reason == Reason::none) worker->end_reason = kill.reason;
    const bool is_own_death = kill.reason == Reason::load_silent ||
                              kill.reason == Reason::not_answering ||
                              kill.reason == Reason::proof_silent;
    ledger.die(*worker, is_own_death ? Ledger::Death::own : Ledger::Death::ordered);
    // A restart kills a worker that survived its kill once more.
    if (worker->killed_at == never || kill.reason == Reason::restart_asked) {
        worker->killed_at = ledger.now;
        worker->past.was_given_up = false;
    }
}

void check_workers(Ledger& ledger) {
    for (const KnownWorker* worker : ledger.touched_workers) {
        if (worker->demand == WorkerDemand::kill && worker->killed_at == never)
            return broken(ledger, invariant::ending, "worker {} had to be killed, but was not",
                          show(worker->id));
        if (worker->demand == WorkerDemand::stop_or_kill && worker->killed_at == never &&
            worker->stopped_at == never)
            return broken(ledger, worker->proof.has_failed ? invariant::proof : invariant::ending,
                          "worker {} had to be stopped or killed, but was not", show(worker->id));
    }
    for (const KnownWorker* worker : ledger.touched_workers)
        if (worker->must_be_probed && !worker->is_ending())
            return broken(
                ledger, invariant::health,
                "an exchange with worker {} is closed or stale, but it is not probed at once",
                show(worker->id));
    for (KnownLane& lane : ledger.lanes) {
        for (KnownWorker* worker : lane.workers) {
            const bool leaves = worker->retired == Sure::yes || lane.is_taken_out();
            if (leaves && worker->aboard.empty() && !worker->is_ending() &&
                !worker->proof.is_running())
                return broken(ledger, invariant::ending,
                              "worker {} has to leave and has nothing aboard, but is not stopped",
                              show(worker->id));
            if (!ledger.is_time_event) continue;
            check_waits(ledger, *worker);
            check_survivor(ledger, *worker);
        }
    }
}

}  // namespace turnpike::sim
