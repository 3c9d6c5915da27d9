// What happens when a worker dies: which jobs are to blame, and how its lane may start again.
#include <algorithm>

#include "sim/ledger.h"

namespace turnpike::sim {

/// Ends the worker. Everything aboard is lost at once.
void Ledger::die(KnownWorker& worker, Death death) {
    worker.life = std::max(worker.life, WorkerLife::ending);
    const std::size_t count = worker.aboard.size();
    while (!worker.aboard.empty()) {
        KnownAttempt& attempt = *worker.aboard.back();
        Sure alone = Sure::no;
        if (count == 1 && attempt.shared == Sure::no) alone = Sure::yes;
        if (count == 1 && attempt.shared == Sure::maybe) alone = Sure::maybe;
        lose(attempt, death, alone);
    }
}

/// Takes one lost attempt off its worker. Its job ends, or goes back to the queue.
void Ledger::lose(KnownAttempt& attempt, Death death, Sure alone) {
    KnownJob* const job = attempt.job;
    const PoolSettings& rules = *pool_of(*attempt.worker).settings;
    const bool answering = attempt.stage == AttemptStage::answering;
    leave_worker(attempt);
    attempt.job = nullptr;
    if (job == nullptr) return;
    touched_jobs.push_back(job->id);
    job->fate.accepts_any_reason = job->fate.accepts_any_reason || death == Death::unclear;
    if (answering) return expect_end(*job, EndReason::stream_broken);
    if (job->is_aside || (!rules.may_retry && death != Death::undelivered))
        return expect_end(*job, EndReason::worker_died);
    if (death == Death::ordered || death == Death::undelivered) {
        lower_to(job->alone, Sure::maybe);
        return enqueue(*job, Entry::retry);
    }
    const bool unclear = death == Death::unclear;
    if (alone == Sure::yes && !unclear) ++job->lone_deaths_lo;
    if (alone != Sure::no) ++job->lone_deaths_hi;
    if (job->lone_deaths_lo >= 2) return expect_end(*job, EndReason::poison);
    if (job->lone_deaths_hi >= 2) {
        job->fate.end = std::max(job->fate.end, JobFate::End::may_come);
        job->fate.reason = EndReason::poison;
    }
    if (can_share(pools[job->pool.value])) job->alone = unclear ? Sure::maybe : Sure::yes;
    enqueue(*job, Entry::retry);
}

/// Records that the link of one attempt broke, and that the other attempts aboard shared the break.
/// If nobody waits for the attempt, the rules leave open whether they shared it.
void Ledger::take_broken_link(KnownAttempt& attempt) {
    KnownWorker& worker = *attempt.worker;
    Sure alone = Sure::no;
    if (worker.aboard.size() == 1 && attempt.shared == Sure::no) alone = Sure::yes;
    if (worker.aboard.size() == 1 && attempt.shared == Sure::maybe) alone = Sure::maybe;
    const bool wanted = attempt.job != nullptr;
    lose(attempt, Death::own, alone);
    for (KnownAttempt* other : worker.aboard) {
        raise_to(other->shared, wanted ? Sure::yes : Sure::maybe);
    }
    raise_to(worker.held, wanted ? Sure::yes : Sure::maybe);
    drop_distrust(worker);
}

/// Records that the attempt never reached its worker.
void Ledger::take_undelivered(KnownAttempt& attempt) {
    KnownWorker& worker = *attempt.worker;
    const bool wanted = attempt.job != nullptr;
    lose(attempt, Death::undelivered, Sure::no);
    raise_to(worker.held, wanted ? Sure::yes : Sure::maybe);
    drop_distrust(worker);
}

/// Records a crash: the next start waits for a growing delay, and crash_limit counts this end.
void Ledger::crash(KnownWorker& worker, Sure sure) {
    if (worker.past.has_crashed) return;
    worker.past.has_crashed = true;
    KnownLane& lane = lane_of(worker);
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool does_count = sure == Sure::yes && was_current(worker) && !lane.is_taken_out() &&
                            worker.retired == Sure::no &&
                            worker.generation == pool_before(worker.pool).good &&
                            !is_shutting_down && !is_late;
    if (does_count && has_served_well(worker)) lane.trouble_row = 0;
    allow_restart_delay(worker);
    lane.crashes_hi.push_back(now);
    if (lane.crashes_hi.size() > 2 * crash_limit_max)
        lane.crashes_hi.erase(lane.crashes_hi.begin());
    if (worker.has_loaded() && now - worker.ready_at >= rules.restart_good_run) lane.crash_row = 0;
    if (!does_count) return;
    std::erase_if(lane.crashes_lo, [&](Instant at) { return now - at >= rules.crash_window; });
    lane.crashes_lo.push_back(now);
    const Duration doubled =
        rules.restart_delay_min * (std::int64_t{1} << std::min(lane.crash_row, 20U));
    ++lane.crash_row;
    lane.not_before = now + jittered_min(std::min(doubled, rules.restart_delay_max));
    if (rules.ownership == Ownership::attached || lane.crashes_lo.size() < rules.crash_limit)
        return;
    const bool is_reloading = !pool_before(worker.pool).reloading.is_none() ||
                              !seen_pool(worker.pool).reloading.is_none();
    if (!is_reloading) lane.outage.must_stay_down = true;
}

void Ledger::begin_reload(KnownPool& pool) {
    pool.tried = seen_pool(pool.id).reloading;
    pool.reload_turn = turn;
    const bool may_retire = pool.was_asked_as(pool.tried, ReloadKind::in_place);
    for (KnownLane& lane : pool.lanes) {
        if (lane_before(lane.id).state == LaneState::failed)
            lane.outage.had_failed_before_reload = true;
        if (lane.disagreements_row < 2 && lane.proof_failures_row < 2) {
            lane.outage.must_stay_down = false;
            lane.disagreements_row = lane.proof_failures_row = 0;
        }
        reset_crashes(lane);
        // A worker that is retired for a reload, and then kept, may have to prove itself.
        for (KnownWorker* worker : lane.workers) {
            if (may_retire && worker->has_proof) raise_to(worker->proof.needed, Sure::maybe);
            drop_distrust(*worker);
        }
    }
}

/// Must be called when a stronger hold replaces the distrust of a failing worker. The engine need
/// not return to the distrust afterwards.
void Ledger::drop_distrust(KnownWorker& worker) {
    worker.trust.rests_until = now;
    lower_to(worker.trust.probation, Sure::maybe);
    worker.trust.needs_proof = false;
}

void Ledger::reset_crashes(KnownLane& lane) {
    lane.not_before = now;
    lane.crash_row = 0;
    lane.crashes_lo.clear();
}

/// True if the worker has certainly served for restart_good_run.
bool Ledger::has_served_well(const KnownWorker& worker) const {
    const PoolSettings& rules = *pools[worker.pool.value].settings;
    if (!worker.has_loaded() || (worker.has_proof && !worker.proof.has_ever_passed())) return false;
    return now - (worker.has_proof ? worker.proof.first_passed_at : worker.ready_at) >=
           rules.restart_good_run;
}

void Ledger::allow_restart_delay(KnownWorker& worker) {
    KnownLane& lane = lane_of(worker);
    const PoolSettings& rules = *pool_of(worker).settings;
    const Duration doubled =
        rules.restart_delay_min * (std::int64_t{1} << std::min(lane.trouble_row++, 20U));
    lane.last_trouble = now;
    lane.not_after =
        std::max(lane.not_after, now + jittered_max(std::min(doubled, rules.restart_delay_max)));
}

void Ledger::demand_kill(KnownWorker& worker) {
    worker.demand = WorkerDemand::kill;
    touched_workers.push_back(&worker);
}

void Ledger::demand_end(KnownWorker& worker) {
    worker.demand = std::max(worker.demand, WorkerDemand::stop_or_kill);
    touched_workers.push_back(&worker);
}

}  // namespace turnpike::sim
