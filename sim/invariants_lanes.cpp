// Lanes and pools: what people see of them is true, restarts keep their delays and limits, and
// reloads and shutdown follow their rules.
#include <algorithm>

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
}

void check_failed(Ledger& ledger, const KnownLane& lane) {
    const PoolSettings& rules = *ledger.pools[lane.pool.value].settings;
    if (rules.ownership == Ownership::attached)
        return broken(ledger, invariant::restart, "attached lane {} failed", show(lane.id));
    const auto& crashes = lane.crashes_hi;  // in order of time
    std::size_t most = 0;
    for (std::size_t first = 0, last = 0; last < crashes.size(); ++last) {
        while (crashes[last] - crashes[first] > rules.crash_window) ++first;
        most = std::max(most, last - first + 1);
    }
    if (most < rules.crash_limit && !lane.outage.has_ever_failed)
        broken(ledger, invariant::restart, "lane {} failed after {} crashes", show(lane.id), most);
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

bool may_load_now(const Ledger& ledger, const KnownLane& lane) {
    if (ledger.settings.pools[lane.pool.value].ownership == Ownership::attached) return true;
    const auto loading = std::ranges::count_if(ledger.workers, [&](const auto& entry) {
        return ledger.is_owned(entry.second) && !entry.second.has_loaded() &&
               !entry.second.is_gone();
    });
    return ledger.settings.load_parallel_max == 0 || loading < ledger.settings.load_parallel_max;
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

void check_lane(Ledger& ledger, KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const LaneState then = ledger.lane_before(lane.id).state;
    check_report(ledger, lane);
    if (seen.state == LaneState::failed && then != LaneState::failed) check_failed(ledger, lane);
    if (seen.state == LaneState::quarantined && then != LaneState::quarantined)
        check_quarantined(ledger, lane);
    if (seen.state == LaneState::failed) lane.outage.has_ever_failed = true;
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
        if (!lane.is_taken_out() && state != LaneState::drained && state != LaneState::quarantined)
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
            lane.outage.has_ever_failed = ledger.seen_lane(lane.id).state == LaneState::failed;
            if (lane.disagreements_row < 2 && lane.proof_failures_row < 2)
                lane.disagreements_row = lane.proof_failures_row = 0;
        }
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
        const bool beside = pool->was_asked_as(report.generation, ReloadKind::beside);
        if (!has_spread && lane.outage.had_failed_before_reload && beside && !does_another_follow &&
            !pool->had_odd_reload)
            lane.outage.must_stay_down = true;
        if (has_spread && lane.disagreements_row < 2 && lane.proof_failures_row < 2)
            lane.outage.must_stay_down = false;
        const bool was_tried = !beside && ledger.lane_before(lane.id).state != LaneState::failed;
        if (has_spread || !does_another_follow || was_tried)
            lane.outage.had_failed_before_reload = false;
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
