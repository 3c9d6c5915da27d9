// What happens when a worker dies: which jobs are to blame, and how its lane may start again.
#include <algorithm>

#include "sim/ledger.h"

namespace turnpike::sim {

/// Notes that the worker, which is ending, may have had a good run, or certainly had one.
void Ledger::note_good_run(KnownWorker& worker) {
    KnownLane& lane = lane_of(worker);
    end_parole(lane, has_served_well(worker) ? Sure::no : Sure::maybe);
    lane.row_lo = {};
    if (was_current(worker) && has_served_well(worker)) lane.row_hi = {};
}

/// Ends the worker. Everything aboard is lost at once.
void Ledger::die(KnownWorker& worker, Death death) {
    const bool was_ending = worker.is_ending();
    worker.life = std::max(worker.life, WorkerLife::ending);
    if (was_ending) return;
    const Duration good_run = pool_of(worker).settings->restart_good_run;
    if (worker.has_loaded() && now - worker.ready_at >= good_run) note_good_run(worker);
    const std::size_t count = worker.aboard.size();
    const bool is_at_work =
        count > 0 || cases.contains(worker.trouble) || now < worker.perhaps_busy_until;
    if (death == Death::ordered) {
        if (const auto found = cases.find(worker.trouble); found != cases.end())
            found->second.is_worker_dead = found->second.is_lane_cleared = true;
        while (!worker.aboard.empty())
            put_back(*worker.aboard.back(), pool_of(worker).settings->may_retry);
    } else if (is_at_work) {
        KnownCase& it = cases[case_of(worker)];
        it.is_worker_dead = true;
        const KnownLane& lane = lane_of(worker);
        const bool was_off = is_off(lane_before(lane.id).state) || lane.is_taken_out();
        it.is_lane_cleared =
            it.is_lane_cleared || now < worker.perhaps_busy_until || (was_off && !is_late);
        it.is_lane_perhaps_cleared =
            it.is_lane_perhaps_cleared || was_off || is_off(seen_lane(lane.id).state);
        while (!worker.aboard.empty()) {
            KnownAttempt& attempt = *worker.aboard.back();
            lose(attempt, count == 1 && !attempt.is_shared, worker.trouble);
        }
    }
    if (death == Death::own) crash(worker, is_at_work ? At::work : At::rest);
    close_case(worker.trouble);
}

void Ledger::put_back(KnownAttempt& attempt, bool may_retry) {
    KnownJob* const job = attempt.job;
    const bool answering = attempt.stage == AttemptStage::answering;
    leave_worker(attempt);
    attempt.job = nullptr;
    if (job == nullptr) return;
    touched_jobs.push_back(job->id);
    if (answering) return expect_end(*job, EndReason::stream_broken);
    if (job->is_aside || !may_retry) return expect_end(*job, EndReason::worker_died);
    enqueue(*job, Entry::retry);
}

/// Takes an attempt that died off its worker. Its job ends, or is suspected and rides again.
void Ledger::lose(KnownAttempt& attempt, bool was_alone, std::uint64_t in_case) {
    KnownJob* const job = attempt.job;
    KnownWorker& worker = *attempt.worker;
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool answering = attempt.stage == AttemptStage::answering;
    leave_worker(attempt);
    attempt.job = nullptr;
    KnownCase& it = cases[in_case];
    const bool may_ride = job != nullptr && !answering && !job->is_aside && rules.may_retry;
    if (!may_ride || !job->wanted.is_none()) it.is_lane_cleared = true;
    if (job == nullptr) return;
    if (!job->wanted.is_none()) explain_death(in_case);
    touched_jobs.push_back(job->id);
    if (answering) return expect_end(*job, EndReason::stream_broken);
    if (!may_ride) return expect_end(*job, EndReason::worker_died);
    const auto earlier = cases.find(job->suspect_in);
    const bool have_workers_exited =
        it.is_worker_dead && earlier != cases.end() && earlier->second.is_worker_dead;
    if (was_alone) explain_death(job->suspect_in);
    leave_case(*job, false);
    if (job->died_in != worker.generation) job->lone_deaths = 0;
    if (was_alone && ++job->lone_deaths >= 2) {
        explain_death(in_case);
        it.is_lane_cleared = true;
        take_poison(*job, have_workers_exited);
        return expect_end(*job, EndReason::poison);
    }
    job->is_alone = true;
    job->died_on = worker.lane;
    job->died_in = worker.generation;
    job->died_at = now;
    const Duration usual = seen_pool(job->pool).usual_run;
    const Duration then = pool_before(job->pool).usual_run;
    job->avoids_until_lo = later(now, std::max<Duration>(1s, 2 * std::min(usual, then)));
    job->avoids_until_hi = later(now, std::max<Duration>(1s, 2 * std::max(usual, then)));
    job->suspect_in = in_case;
    ++it.suspects;
    enqueue(*job, Entry::retry);
}

/// Records that the link of one attempt broke, and that the other attempts aboard shared the break.
void Ledger::take_broken_link(KnownAttempt& attempt) {
    KnownWorker& worker = *attempt.worker;
    const bool was_alone = worker.aboard.size() == 1 && !attempt.is_shared;
    lose(attempt, was_alone, case_of(worker));
    for (KnownAttempt* other : worker.aboard) other->is_shared = true;
    worker.held = Sure::yes;
    drop_distrust(worker);
}

/// Records that the attempt never reached its worker.
void Ledger::take_undelivered(KnownAttempt& attempt) {
    KnownWorker& worker = *attempt.worker;
    if (attempt.job != nullptr) attempt.job->may_have_reached_worker = false;
    put_back(attempt, true);
    worker.held = Sure::yes;
    drop_distrust(worker);
}

/// Records that a reused connection had been closed by the worker. The job may be sent once more.
void Ledger::take_stale(KnownAttempt& attempt) {
    KnownJob* const job = attempt.job;
    const bool may_send_again =
        job == nullptr || (pool_of(*attempt.worker).settings->may_retry && !job->is_aside &&
                           !job->was_stale && attempt.stage != AttemptStage::answering);
    if (!may_send_again) return take_broken_link(attempt);
    if (job != nullptr) job->was_stale = true;
    cases[case_of(*attempt.worker)].is_lane_cleared = true;
    demand_probe(*attempt.worker);
    put_back(attempt, true);
}

/// Records that the exchange of an abandoned attempt is closed. The slot stays taken.
void Ledger::take_closed(KnownAttempt& attempt) {
    if (attempt.is_closed()) return;
    attempt.closed_at_probe = attempt.worker->probe.latest;
    demand_probe(*attempt.worker);
}

void Ledger::take_probe_answer(KnownWorker& worker, std::uint32_t probe) {
    drop_case_of(worker);
    const std::vector<KnownAttempt*> aboard = worker.aboard;
    for (KnownAttempt* attempt : aboard)
        if (attempt->is_closed() && *attempt->closed_at_probe < probe) {
            const Instant longest = later(attempt->moved, pool_of(worker).settings->job_timeout);
            worker.perhaps_busy_until = std::max(worker.perhaps_busy_until, longest);
            leave_worker(*attempt);
        }
    demand_probe(worker);
}

/// Records that the worker ended by itself, or had to be ended because it was silent. If it died under
/// jobs, their case decides whether that counts as a crash of its lane.
void Ledger::crash(KnownWorker& worker, At place) {
    worker.past.has_crashed = true;
    KnownLane& lane = lane_of(worker);
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool does_count = was_current(worker) && !lane.is_taken_out() &&
                            worker.retired == Sure::no &&
                            worker.generation == pool_before(worker.pool).good &&
                            worker.generation == seen_pool(worker.pool).good &&
                            !is_off(lane_before(lane.id).state) && !is_shutting_down && !is_late;
    if (does_count && has_served_well(worker)) lane.trouble_row = 0;
    if (worker.has_loaded() && now - worker.ready_at >= rules.restart_good_run) {
        lane.crash_row = 0;
    }
    if (place == At::work) return delay_uncharged(worker, does_count);
    allow_restart_delay(worker);
    lane.crashes_hi.push_back(now);
    if (lane.crashes_hi.size() > 4 * crash_limit_max)
        lane.crashes_hi.erase(lane.crashes_hi.begin());
    const std::uint64_t death = ++cases_opened;
    lane.row_hi.add(death, now);
    if (!does_count) return;
    lane.row_lo.add(death, now);
    std::erase_if(lane.crashes_lo, [&](Instant at) { return now - at >= rules.crash_window; });
    lane.crashes_lo.push_back(now);
    const Duration doubled =
        rules.restart_delay_min * (std::int64_t{1} << std::min(lane.crash_row, 20U));
    ++lane.crash_row;
    lane.not_before = now + jittered_min(std::min(doubled, rules.restart_delay_max));
    demand_failure(lane);
}

void Ledger::begin_reload(KnownPool& pool) {
    pool.tried = seen_pool(pool.id).reloading;
    pool.reload_turn = turn;
    const bool may_retire = pool.was_asked_as(pool.tried, ReloadKind::in_place);
    for (KnownLane& lane : pool.lanes) {
        const LaneView& then = lane_before(lane.id);
        if (then.state == LaneState::failed || is_off_for_wrong_answers(then)) {
            lane.outage.had_failed_before_reload = true;
            lane.outage.was_wrong_before_reload = is_off_for_wrong_answers(then);
            clear_in_all_cases(lane, Sure::maybe);  // the reload may revive it
        }
        lane.outage.must_stay_down = lane.outage.must_fail = false;
        lane.disagreements_row = lane.proof_failures_row = 0;
        lower_to(lane.outage.parole, Sure::maybe);
        reset_crashes(lane);
        // A worker that is retired for a reload, and then kept, may have to prove itself.
        for (KnownWorker* worker : lane.workers) {
            if (may_retire && worker->has_proof) raise_to(worker->proof.needed, Sure::maybe);
            drop_distrust(*worker);
            // A failed lane stops its try when a reload begins.
            if (then.state == LaneState::failed && worker->past.is_try && !worker->is_ending() &&
                !is_late)
                demand_end(*worker);
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
    lane.row_lo = {};
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

/// A start that a shortage prevented may be tried again after the longest such delay at the latest.
void Ledger::allow_shortage_delay(KnownWorker& worker) {
    KnownLane& lane = lane_of(worker);
    const Duration longest =
        std::min<Duration>(pool_of(worker).settings->restart_delay_max, shortage_delay_max);
    lane.not_after = std::max(lane.not_after, now + jittered_max(longest));
}

void Ledger::demand_kill(KnownWorker& worker) {
    worker.demand = WorkerDemand::kill;
    touched_workers.push_back(&worker);
}

void Ledger::demand_probe(KnownWorker& worker) {
    const KnownProbe& probe = worker.probe;
    const Duration timeout = pool_of(worker).settings->probe_timeout;
    if (probe.out && later(probe.last_sent, timeout) > now) return;
    worker.must_be_probed =
        cases.contains(worker.trouble) ||
        std::ranges::any_of(worker.aboard, [](const auto* it) { return it->is_closed(); });
    touched_workers.push_back(&worker);
}

void Ledger::demand_end(KnownWorker& worker) {
    worker.demand = std::max(worker.demand, WorkerDemand::stop_or_kill);
    touched_workers.push_back(&worker);
}

}  // namespace turnpike::sim
