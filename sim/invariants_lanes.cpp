// Lanes and pools: what people see of them is true, restarts keep their delays and limits, and
// reloads and shutdown follow their rules.
#include <algorithm>
#include <variant>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

/// Treats `busy` as `ready`, because the engine does not report changes between the two.
LaneState reported_as(LaneState state) {
    return state == LaneState::busy ? LaneState::ready : state;
}

void check_report(Ledger& ledger, const KnownLane& lane) {
    const LaneState then = reported_as(ledger.lane_before(lane.id).state);
    const LaneState state = reported_as(ledger.seen_lane(lane.id).state);
    const bool is_reported = lane.reported_turn == ledger.turn;
    if (is_reported && reported_as(lane.reported) != state)
        return broken(ledger, invariant::counts, "lane {} is reported {}, but is {}", show(lane.id),
                      name_of(lane.reported), name_of(state));
    if (then != state && !is_reported)
        broken(ledger, invariant::counts, "lane {} turned from {} to {} without a report",
               show(lane.id), name_of(then), name_of(state));
    const Duration next_try = ledger.seen_lane(lane.id).next_try;
    if (is_reported && lane.reported_next_try != next_try)
        broken(ledger, invariant::counts, "lane {} is reported to try again after {}, not {}",
               show(lane.id), show(lane.reported_next_try), show(next_try));
}

bool may_load_now(const Ledger& ledger, const KnownLane& lane) {
    if (ledger.settings.pools[lane.pool.value].ownership == Ownership::attached) return true;
    const auto loading = std::ranges::count_if(ledger.workers, [&](const auto& entry) {
        return ledger.is_owned(entry.second) && !entry.second.has_loaded() &&
               !entry.second.is_gone();
    });
    return ledger.settings.load_parallel_max == 0 || loading < ledger.settings.load_parallel_max;
}

/// A failed lane without a next try is trying now: it has a worker, or waits for something.
void check_try(Ledger& ledger, KnownLane& lane) {
    lane.outage.may_fail_again = lane.outage.may_fail_again ||
                                 std::ranges::any_of(lane.workers, [](const KnownWorker* worker) {
                                     return worker->past.is_try;
                                 });
    if (lane.outage.retry_at > ledger.now)
        return broken(ledger, invariant::revival, "lane {} tries again too early", show(lane.id));
    const bool does_serve = std::ranges::any_of(lane.workers, [](const KnownWorker* worker) {
        return worker->past.is_try && worker->has_loaded() && !worker->is_ending() &&
               (!worker->has_proof || worker->proof.has_ever_passed());
    });
    if (does_serve)
        return broken(ledger, invariant::revival, "lane {} serves again, but counts as failed",
                      show(lane.id));
    const bool is_prevented = !ledger.is_time_event || ledger.is_shutting_down ||
                              !ledger.seen_pool(lane.pool).reloading.is_none() ||
                              lane.memory_held != Sure::no || !may_load_now(ledger, lane) ||
                              ledger.now < lane.not_after;
    if (lane.workers.empty() && !is_prevented)
        broken(ledger, invariant::revival, "lane {} has failed and should try again by now",
               show(lane.id));
}

void check_failed(Ledger& ledger, const KnownLane& lane) {
    const PoolSettings& rules = *ledger.pools[lane.pool.value].settings;
    if (rules.ownership == Ownership::attached)
        return broken(ledger, invariant::restart, "attached lane {} failed", show(lane.id));
    const auto most = std::ranges::count_if(
        lane.crashes_hi, [&](Instant at) { return ledger.now - at <= rules.crash_window; });
    const bool may_be_revived_in_vain = ledger.pools[lane.pool.value].given_up_turn == ledger.turn;
    if (may_be_revived_in_vain) return;
    const Generation reloading = ledger.seen_pool(lane.pool).reloading;
    if (!reloading.is_none() && reloading == ledger.pool_before(lane.pool).reloading)
        return broken(ledger, invariant::restart, "lane {} failed during a reload", show(lane.id));
    if (most < rules.crash_limit && lane.outage.parole == Sure::no)
        return broken(
            ledger, std::ssize(lane.row_hi.deaths) > most ? invariant::justice : invariant::restart,
            "lane {} failed after {} crashes", show(lane.id), most);
    if (ledger.is_surely_last_that_served(lane) && !ledger.is_late)
        broken(ledger, invariant::revival, "lane {} failed, but is the last that has served",
               show(lane.id));
}

/// Follows when a failed lane tries again, and checks what the view says of it.
void check_next_try(Ledger& ledger, KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const PoolSettings& rules = *ledger.pools[lane.pool.value].settings;
    KnownOutage& outage = lane.outage;
    if (seen.state != LaneState::failed) {
        outage.retry_at = never;
        if (seen.next_try != Duration::zero())
            broken(ledger, invariant::revival, "lane {} is {}, but shows a next try", show(lane.id),
                   name_of(seen.state));
        return;
    }
    if (seen.next_try == Duration::zero()) return check_try(ledger, lane);
    const Instant at = ledger.now + seen.next_try;
    // The try of the lane begins anew when it fails, when its try fails, or when a reload ends it.
    const bool is_new = at != outage.retry_at;
    if (is_new && seen.next_try != rules.revive_every)
        return broken(ledger, invariant::revival, "lane {} tries again after {}", show(lane.id),
                      show(seen.next_try));
    if (is_new && lane.reported_turn != ledger.turn)
        return broken(ledger, invariant::counts, "the next try of lane {} is not reported",
                      show(lane.id));
    if (is_new && outage.retry_at != never && !outage.may_fail_again && !ledger.is_late &&
        ledger.pools[lane.pool.value].reload_turn != ledger.turn)
        return broken(ledger, invariant::revival, "lane {} changed its next try to {} from now",
                      show(lane.id), show(seen.next_try));
    outage.retry_at = at;
    outage.may_fail_again = false;
}

bool will_not_die(const Ledger& ledger, const KnownWorker& worker) {
    return worker.killed_at != never &&
           later(worker.killed_at, ledger.pools[worker.pool.value].settings->kill_patience) <=
               ledger.now;
}

bool has_survivor(const Ledger& ledger, const KnownLane& lane) {
    return std::ranges::any_of(
        lane.workers, [&](const KnownWorker* worker) { return will_not_die(ledger, *worker); });
}

void check_quarantined(Ledger& ledger, const KnownLane& lane) {
    const Reason reason = ledger.seen_lane(lane.id).reason;
    const std::uint32_t refuted = lane.proof_failures_hi + lane.disagreements_hi;
    const bool is_justified =
        (reason == Reason::gpu_lost && lane.outage.is_gpu_lost) ||
        (reason == Reason::will_not_die && has_survivor(ledger, lane)) ||
        ((reason == Reason::proof_failed || reason == Reason::disagrees) && refuted >= 2);
    if (!is_justified)
        broken(ledger, invariant::restart, "lane {} is quarantined for {}, which is not true",
               show(lane.id), name_of(reason));
}

/// A lane that is on and has no worker must start one once the longest possible delay is over.
void check_start(Ledger& ledger, const KnownLane& lane) {
    const LaneState state = ledger.seen_lane(lane.id).state;
    if (!lane.workers.empty() || !ledger.is_open || ledger.is_shutting_down ||
        lane.is_taken_out() || is_off(state))
        return;
    if (lane.memory_held != Sure::no || !ledger.seen_pool(lane.pool).reloading.is_none() ||
        !may_load_now(ledger, lane))
        return;
    if (std::max(lane.not_after, lane.last_gone) <= ledger.now)
        broken(ledger, invariant::restart,
               "lane {} has had no worker for {}, though it has nothing to wait for", show(lane.id),
               show(ledger.now - lane.last_gone));
}

/// True if a reload in place has just turned the lane on, to try the new code there. The lane stays on,
/// and its history is cleared.
bool was_revived_in_place(const Ledger& ledger, const KnownLane& lane) {
    const LaneView& then = ledger.lane_before(lane.id);
    const KnownPool& pool = ledger.pools[lane.pool.value];
    return pool.reload_turn == ledger.turn && !ledger.is_late &&
           pool.was_asked_as(pool.tried, ReloadKind::in_place) &&
           (then.state == LaneState::failed || is_off_for_wrong_answers(then)) &&
           !is_off(ledger.seen_lane(lane.id).state);
}

/// Notes which generation has served on the lane, and whether the lane is on parole.
void follow_service(Ledger& ledger, KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const LaneState then = ledger.lane_before(lane.id).state;
    if (seen.state == LaneState::ready || seen.state == LaneState::busy)
        lane.served_lo = seen.generation;
    if (lane.served_lo != Generation{}) lane.served_hi.insert(lane.served_lo);
    for (KnownWorker* worker : lane.workers) {
        if (worker->has_loaded()) lane.served_hi.insert(worker->generation);
        if (seen.state == LaneState::failed) worker->past.was_failed = true;
    }
    const bool has_reload = !ledger.pool_before(lane.pool).reloading.is_none() ||
                            !ledger.seen_pool(lane.pool).reloading.is_none();
    const bool was_asked = std::holds_alternative<RestartAsked>(*ledger.event);
    if (then == LaneState::failed && !is_off(seen.state) && !was_asked && !lane.is_taken_out())
        lane.outage.parole = has_reload ? Sure::maybe : Sure::yes;
    if (then != LaneState::failed && seen.state == LaneState::failed)
        ledger.clear_in_all_cases(lane, Sure::yes);
    if (was_revived_in_place(ledger, lane)) {
        lane.outage.parole = Sure::no;
        std::erase_if(lane.crashes_hi, [&](Instant at) { return at < ledger.now; });
    }
    if (!is_off(seen.state))
        for (KnownWorker* worker : lane.workers)
            worker->past.is_try = worker->past.is_try && worker->is_ending();
}

void check_lane(Ledger& ledger, KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const LaneState then = ledger.lane_before(lane.id).state;
    check_report(ledger, lane);
    if (seen.state == LaneState::failed && then != LaneState::failed) check_failed(ledger, lane);
    if (seen.state == LaneState::quarantined && then != LaneState::quarantined)
        check_quarantined(ledger, lane);
    if (lane.outage.must_fail && seen.state != LaneState::failed &&
        seen.state != LaneState::quarantined)
        return broken(ledger, invariant::restart, "lane {} crashed too often, but is {}",
                      show(lane.id), name_of(seen.state));
    if (lane.outage.must_be_quarantined && seen.state != LaneState::quarantined)
        return broken(ledger, invariant::restart,
                      "lane {} gave a wrong answer once more, but is {}", show(lane.id),
                      name_of(seen.state));
    check_next_try(ledger, lane);
    follow_service(ledger, lane);
    if (lane.must_start)
        broken(
            ledger, invariant::restart,
            "the end of lane {}'s worker was ordered, but its next worker is not started at once",
            show(lane.id));
    if (lane.outage.must_stay_down && lane.workers.empty() && !is_off(seen.state) &&
        ledger.seen_pool(lane.pool).reloading.is_none())
        broken(ledger, invariant::restart, "lane {} had to be given up", show(lane.id));
    if (ledger.is_time_event) check_start(ledger, lane);
}

/// A generation that is neither good nor being tried must have no workers. An in-place reload tries
/// its generation on one lane only.
void check_trial(Ledger& ledger, const KnownPool& pool, Generation reloading) {
    std::uint32_t lanes = 0;
    for (const KnownLane& lane : pool.lanes) {
        const bool is_trying = std::ranges::any_of(lane.workers, [&](const KnownWorker* worker) {
            if (worker->is_ending() || is_among(pool.ever_good, worker->generation)) return false;
            if (worker->generation != reloading)
                broken(ledger, invariant::reload,
                       "worker {} runs generation {}, which was abandoned", show(worker->id),
                       show(worker->generation));
            return true;
        });
        lanes += is_trying ? 1 : 0;
    }
    if (lanes > 1 && pool.was_asked_as(reloading, ReloadKind::in_place))
        broken(ledger, invariant::reload, "generation {} is tried on {} lanes at once",
               show(reloading), lanes);
}

/// The newest generation that was asked for must be tried as soon as a lane can take it.
void check_waiting(Ledger& ledger, const KnownPool& pool, const PoolView& seen) {
    if (!seen.reloading.is_none() && seen.reloading != ledger.pool_before(pool.id).reloading &&
        seen.reloading != pool.newest)
        return broken(ledger, invariant::reload,
                      "pool {} reloads generation {}, but {} was asked for", show(pool.id),
                      show(seen.reloading), show(pool.newest));
    if (!seen.reloading.is_none() && seen.reloading != seen.good && seen.reloading < pool.newest)
        return broken(ledger, invariant::reload,
                      "pool {} still tries generation {}, though {} was asked for", show(pool.id),
                      show(seen.reloading), show(pool.newest));
    if (!seen.reloading.is_none() || ledger.is_shutting_down || pool.newest <= pool.tried ||
        pool.newest <= seen.good)
        return;
    for (const KnownLane& lane : pool.lanes) {
        const LaneState state = ledger.seen_lane(lane.id).state;
        const bool is_hopeless =
            state == LaneState::quarantined && !is_off_for_wrong_answers(ledger.seen_lane(lane.id));
        if (!lane.is_taken_out() && state != LaneState::drained && !is_hopeless)
            return broken(ledger, invariant::reload,
                          "generation {} is waiting, but lane {} could take it", show(pool.newest),
                          show(lane.id));
    }
}

void check_pool_generations(Ledger& ledger, KnownPool& pool) {
    const PoolView& then = ledger.pool_before(pool.id);
    const PoolView& seen = ledger.seen_pool(pool.id);
    if (pool.ever_good.empty()) pool.ever_good.push_back(seen.good);
    if (seen.good != then.good) {
        const bool has_served = std::ranges::any_of(ledger.workers, [&](const auto& entry) {
            const KnownWorker& worker = entry.second;
            return worker.pool == pool.id && worker.generation == seen.good &&
                   worker.has_loaded() && !worker.proof.has_failed &&
                   (!worker.has_proof || worker.proof.has_ever_passed());
        });
        if (!has_served || !is_among(pool.asked, seen.good) || is_among(pool.failed, seen.good))
            return broken(ledger, invariant::reload,
                          "generation {} is good, but no worker of it has served", show(seen.good));
        pool.ever_good.push_back(seen.good);
        for (KnownLane& lane : pool.lanes) {
            ledger.reset_crashes(lane);
            std::erase_if(lane.crashes_hi, [&](Instant at) { return at < ledger.now; });
            lane.outage.parole = Sure::no;
            lane.outage.must_stay_down = false;
            lane.row_hi = {};
            lane.trouble_row = 0;
            lane.disagreements_row = lane.proof_failures_row = 0;
            ledger.clear_in_all_cases(lane, Sure::yes);
        }
        pool.poisons.clear();
        pool.poisons_in_row = 0;
    }
    if (!seen.reloading.is_none() && !is_among(pool.asked, seen.reloading))
        return broken(ledger, invariant::reload,
                      "pool {} reloads generation {}, which nobody asked for", show(pool.id),
                      show(seen.reloading));
    check_waiting(ledger, pool, seen);
    check_trial(ledger, pool, seen.reloading);
    const bool settled = seen.reloading.is_none() && then.reloading.is_none();
    for (const KnownLane& lane : pool.lanes)
        if (settled && ledger.seen_lane(lane.id).can_take_jobs &&
            ledger.seen_lane(lane.id).generation != seen.good)
            return broken(ledger, invariant::reload, "lane {} serves generation {}, good is {}",
                          show(lane.id), show(ledger.seen_lane(lane.id).generation),
                          show(seen.good));
    for (const KnownLane& lane : pool.lanes) {
        const LaneView& view = ledger.seen_lane(lane.id);
        if (!view.current.is_none() && !is_among(pool.ever_good, view.generation) &&
            !pool.was_asked_as(view.generation, ReloadKind::in_place))
            return broken(ledger, invariant::reload,
                          "lane {} switched to generation {}, which is not good", show(lane.id),
                          show(view.generation));
    }
}

}  // namespace

void judge(Ledger& ledger, const ReportLane& report) {
    KnownLane* lane = ledger.find(report.lane);
    if (lane == nullptr)
        return broken(ledger, invariant::counts, "lane {} is reported, but does not exist",
                      show(report.lane));
    lane->reported_turn = ledger.turn;
    lane->reported = report.state;
    lane->reported_next_try = report.next_try;
}

void judge(Ledger& ledger, const ReportSwitch& report) {
    if (ledger.find(report.lane) == nullptr)
        return broken(ledger, invariant::reload,
                      "lane {} is reported to have switched, but does not exist",
                      show(report.lane));
    const LaneView& seen = ledger.seen_lane(report.lane);
    const bool went_since = seen.current.is_none();
    if (!went_since && seen.current != report.worker)
        return broken(
            ledger, invariant::reload,
            "lane {} is reported to have switched to worker {}, which is not its current one",
            show(report.lane), show(report.worker));
}

void judge(Ledger& ledger, const ReportReload& report) {
    KnownPool* pool = ledger.find(report.pool);
    if (pool == nullptr || !is_among(pool->asked, report.generation))
        return broken(ledger, invariant::reload,
                      "the end of a reload is reported that nobody asked for");
    // The reload may have begun and ended in one turn.
    pool->tried = std::max(pool->tried, report.generation);
    const bool is_good = ledger.seen_pool(pool->id).good == report.generation;
    const bool has_spread = report.end == ReloadEnd::spread;
    if (!has_spread) pool->given_up_turn = ledger.turn;
    if (has_spread != is_good && !pool->had_odd_reload)
        return broken(ledger, invariant::reload,
                      "the reload of generation {} is reported {}, but the generation is {}",
                      show(report.generation), name_of(report.end), is_good ? "good" : "not good");
    if (!has_spread && (report.end == ReloadEnd::superseded) != (report.generation < pool->newest))
        return broken(ledger, invariant::reload,
                      "the reload of generation {} is reported {}, and {} was asked for",
                      show(report.generation), name_of(report.end), show(pool->newest));
    // Another reload revives the lanes again.
    const bool does_another_follow = !ledger.seen_pool(pool->id).reloading.is_none();
    for (const KnownLane& lane : pool->lanes) {
        const LaneView& seen = ledger.seen_lane(lane.id);
        if (has_spread && is_off(lane.reported) && !is_off(seen.state))
            return broken(ledger, invariant::reload,
                          "generation {} is reported as spread before lane {} is reported as on",
                          show(report.generation), show(lane.id));
        const bool is_on = !is_off(seen.state) && !lane.is_taken_out();
        if (has_spread && !does_another_follow && is_on && !seen.current.is_none() &&
            seen.generation != report.generation)
            return broken(ledger, invariant::reload,
                          "generation {} is reported as spread, but lane {} does not run it",
                          show(report.generation), show(lane.id));
    }
    for (KnownLane& lane : pool->lanes) {
        if (!has_spread && lane.outage.had_failed_before_reload && !does_another_follow &&
            !pool->had_odd_reload)
            lane.outage.must_stay_down = true;
        if (has_spread) lane.outage.must_stay_down = false;
        if (has_spread && !does_another_follow &&
            is_off_for_wrong_answers(ledger.seen_lane(lane.id)) &&
            is_off_for_wrong_answers(ledger.lane_before(lane.id)))
            return broken(ledger, invariant::reload,
                          "generation {} has spread, but lane {} is off for its old answers",
                          show(report.generation), show(lane.id));
        const bool was_wrong =
            lane.outage.had_failed_before_reload && lane.outage.was_wrong_before_reload;
        if (!has_spread && !does_another_follow && !pool->had_odd_reload && was_wrong &&
            ledger.seen_lane(lane.id).state != LaneState::quarantined)
            return broken(ledger, invariant::reload,
                          "generation {} is given up, but lane {} is not off for its old answers",
                          show(report.generation), show(lane.id));
        if (has_spread || !does_another_follow) lane.outage.had_failed_before_reload = false;
        ledger.reset_crashes(lane);
    }
}

void judge(Ledger& ledger, const Leave&) {
    if (ledger.has_left) return broken(ledger, invariant::shutdown, "the engine leaves twice");
    const bool is_worker_alive = std::ranges::any_of(ledger.workers, [&](const auto& entry) {
        return !entry.second.is_gone() && !will_not_die(ledger, entry.second);
    });
    if (!ledger.is_shutting_down || !ledger.jobs.empty() || is_worker_alive)
        return broken(ledger, invariant::shutdown, "the engine leaves with {} jobs and {} workers",
                      ledger.jobs.size(), ledger.workers.size());
    ledger.has_left = true;
}

void check_lanes(Ledger& ledger) {
    for (KnownLane& lane : ledger.lanes) check_lane(ledger, lane);
}

void check_generations(Ledger& ledger) {
    for (KnownPool& pool : ledger.pools) check_pool_generations(ledger, pool);
}

void check_shutdown(Ledger& ledger) {
    if (!ledger.is_shutting_down) return;
    const bool is_over = ledger.is_time_event && ledger.shutdown_by <= ledger.now;
    if (is_over && !ledger.jobs.empty())
        return broken(ledger, invariant::shutdown,
                      "the patience of the shutdown is over, and {} jobs live", ledger.jobs.size());
    if (!ledger.jobs.empty()) return;
    bool is_worker_left = false;
    for (const auto& [id, worker] : ledger.workers) {
        if (worker.is_gone()) continue;
        is_worker_left = true;
        if (!worker.is_ending())
            return broken(ledger, invariant::shutdown, "no job lives, and worker {} is not stopped",
                          show(id));
        if (is_over && worker.killed_at == never && worker.exited_at == never)
            return broken(ledger, invariant::shutdown,
                          "the patience of the shutdown is over, and worker {} is not killed",
                          show(id));
    }
    if (!is_worker_left && !ledger.has_left)
        broken(ledger, invariant::shutdown,
               "no job and no worker is left, but the engine does not leave");
}

}  // namespace turnpike::sim
