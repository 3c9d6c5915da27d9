// Who is to blame for a death under jobs: cases, charges, and the memory of poison.
#include <algorithm>
#include <utility>

#include "sim/ledger.h"

namespace turnpike::sim {

namespace {

constexpr std::uint32_t poisons_in_row_max = 3;  // then it is the model
constexpr std::uint32_t deaths_in_row_max = 3;   // then the delay grows

Duration delay_of(const PoolSettings& rules, std::uint32_t level) {
    const Duration doubled = rules.restart_delay_min * (std::int64_t{1} << std::min(level, 20U));
    return std::min(doubled, rules.restart_delay_max);
}

}  // namespace

std::uint64_t Ledger::case_of(KnownWorker& worker) {
    if (!cases.contains(worker.trouble)) {
        worker.trouble = ++cases_opened;
        cases[worker.trouble] = {.lane = worker.lane, .generation = worker.generation};
    }
    return worker.trouble;
}

void Ledger::leave_case(KnownJob& job, bool is_acquitted) {
    const auto found = cases.find(job.suspect_in);
    job.suspect_in = 0;
    if (found == cases.end()) return;
    --found->second.suspects;
    if (!is_acquitted) found->second.is_lane_cleared = true;
    close_case(found->first);
}

void Ledger::close_case(std::uint64_t number) {
    const auto found = cases.find(number);
    if (found == cases.end()) return;
    const KnownCase it = found->second;
    if (it.suspects > 0 || !it.is_worker_dead) return;
    cases.erase(found);
    KnownLane& lane = lanes[it.lane.value];
    if (!it.is_lane_cleared && it.generation == pool_before(lane.pool).good &&
        it.generation == seen_pool(lane.pool).good)
        charge(lane, it.is_lane_perhaps_cleared ? Sure::maybe : Sure::yes);
}

void Ledger::drop_case_of(KnownWorker& worker) {
    cases.erase(worker.trouble);
    worker.trouble = 0;
}

void Ledger::clear_in_all_cases(const KnownLane& lane, Sure sure) {
    for (auto& [number, it] : cases)
        if (it.lane == lane.id)
            (sure == Sure::yes ? it.is_lane_cleared : it.is_lane_perhaps_cleared) = true;
}

void Ledger::charge(KnownLane& lane, Sure sure) {
    ++lane.trouble_row;
    // The worker that followed may have had its good run.
    for (const KnownWorker* worker : lane.workers)
        if (worker->has_loaded() &&
            now - worker->ready_at >= pools[lane.pool.value].settings->restart_good_run)
            end_parole(lane,
                       was_current(*worker) && has_served_well(*worker) ? Sure::no : Sure::maybe);
    lane.crashes_hi.push_back(now);
    if (is_late || sure != Sure::yes) return;
    const PoolSettings& rules = *pools[lane.pool.value].settings;
    std::erase_if(lane.crashes_lo, [&](Instant at) { return now - at >= rules.crash_window; });
    lane.crashes_lo.push_back(now);
    ++lane.crash_row;
    demand_failure(lane);
}

void Ledger::end_parole(KnownLane& lane, Sure left) {
    Sure& parole = lane.outage.parole;
    if (parole == Sure::no) return;
    lane.crashes_lo.clear();
    if (parole == Sure::yes && left == Sure::no) lane.crashes_hi.clear();
    lower_to(parole, left);
}

void Ledger::demand_failure(KnownLane& lane) {
    const PoolSettings& rules = *pools[lane.pool.value].settings;
    const bool is_reloading =
        !pool_before(lane.pool).reloading.is_none() || !seen_pool(lane.pool).reloading.is_none();
    const bool is_on = !is_off(lane_before(lane.id).state) && !lane.is_taken_out();
    if (rules.ownership == Ownership::attached || is_reloading || !is_on ||
        is_perhaps_last_that_served(lane))
        return;
    if (lane.crashes_lo.size() < rules.crash_limit && lane.outage.parole != Sure::yes) return;
    lane.outage.must_fail = lane.outage.must_stay_down = true;
}

bool Ledger::has_another_lane_answered(const KnownLane& lane, Instant since) const {
    return std::ranges::any_of(pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        return other.id != lane.id && other.answered_at && *other.answered_at > since;
    });
}

bool Ledger::is_surely_last_that_served(const KnownLane& lane) const {
    const Generation good = seen_pool(lane.pool).good;
    if (lane.served_lo != good) return false;
    return std::ranges::none_of(pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        return other.id != lane.id && other.served_hi.contains(good) && !is_off_lo(other) &&
               !other.is_taken_out();
    });
}

bool Ledger::is_perhaps_last_that_served(const KnownLane& lane) const {
    const Generation good = seen_pool(lane.pool).good;
    if (!lane.served_hi.contains(good)) return false;
    return std::ranges::none_of(pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        return other.id != lane.id && other.served_lo == good && !is_off_hi(other);
    });
}

void Ledger::delay_uncharged(KnownWorker& worker, bool does_count) {
    KnownLane& lane = lane_of(worker);
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool is_counted = !cases[worker.trouble].is_explained;
    if (is_counted) lane.row_hi.add(worker.trouble, now);
    const auto grown = [&](const KnownRow& row) {
        const auto deaths = static_cast<std::uint32_t>(row.deaths.size());
        return deaths >= deaths_in_row_max && has_another_lane_answered(lane, row.began)
                   ? deaths - deaths_in_row_max + 1
                   : 0;
    };
    lane.last_trouble = now;
    lane.not_after = std::max(
        lane.not_after,
        now + jittered_max(delay_of(rules, std::max(lane.trouble_row, grown(lane.row_hi)))));
    if (!does_count) return;
    if (is_counted) lane.row_lo.add(worker.trouble, now);
    lane.not_before =
        now + jittered_min(delay_of(rules, std::max(lane.crash_row, grown(lane.row_lo))));
}

void Ledger::explain_death(std::uint64_t in_case) {
    const auto found = cases.find(in_case);
    if (found == cases.end()) return;
    found->second.is_explained = true;
    KnownLane& lane = lanes[found->second.lane.value];
    lane.row_lo.deaths.erase(in_case);
    lane.row_hi.deaths.erase(in_case);
}

void Ledger::answered(KnownLane& lane) {
    lane.answered_at = now;
    lane.row_lo = lane.row_hi = {};
    pools[lane.pool.value].poisons_in_row = 0;
}

// ── poison ───────────────────────────────────────────────────────────────────────────────────────

bool Ledger::may_equal_poison(const KnownJob& job) {
    KnownPool& pool = pools[job.pool.value];
    std::erase_if(pool.poisons, [&](const KnownPoison& it) { return it.until <= now; });
    return std::ranges::any_of(pool.poisons,
                               [&](const KnownPoison& it) { return it.length == job.bytes; });
}

const KnownPoison* Ledger::find_poison(KnownPool& pool, Digest digest) {
    std::erase_if(pool.poisons, [&](const KnownPoison& it) { return it.until <= now; });
    const auto found = std::ranges::find(pool.poisons, std::optional(digest), &KnownPoison::digest);
    return found == pool.poisons.end() ? nullptr : &*found;
}

/// Counts a poison that differs from the others since the latest answer. Several show that it is the
/// model.
void Ledger::count_poison(KnownPool& pool) {
    if (++pool.poisons_in_row >= poisons_in_row_max) pool.poisons.clear();
}

void Ledger::take_digest_of_poison(JobId job, Digest digest) {
    for (KnownPool& pool : pools) {
        const auto found = std::ranges::find(pool.poisons, job, &KnownPoison::first);
        if (found == pool.poisons.end() || found->digest) continue;
        const bool is_same_again = std::ranges::find(pool.poisons, std::optional(digest),
                                                     &KnownPoison::digest) != pool.poisons.end();
        if (is_same_again) {
            pool.poisons.erase(found);
            continue;
        }
        found->digest = digest;
        count_poison(pool);
    }
}

/// Records that the job is poison. The engine must remember it if the lane can't be the cause.
void Ledger::take_poison(KnownJob& job, bool have_workers_exited) {
    KnownPool& pool = pools[job.pool.value];
    const KnownLane& lane = lanes[job.last_lane.value];
    if (pool.poisons_in_row >= poisons_in_row_max) return;
    const bool is_sure =
        have_workers_exited &&
        (job.died_on != lane.id || (lane.answered_at && *lane.answered_at > job.died_at));
    job.is_sure_poison = is_sure;
    if (!is_sure || pool.settings->poison_keep <= Duration::zero()) {
        if (job.was_compared || !may_equal_poison(job)) count_poison(pool);
        return;
    }
    std::erase_if(pool.poisons, [&](const KnownPoison& it) { return it.until <= now; });
    if (pool.poisons.size() == poisons_max) pool.poisons.erase(pool.poisons.begin());
    pool.poisons.push_back({.first = job.id,
                            .length = job.bytes,
                            .digest = std::nullopt,
                            .until = later(now, pool.settings->poison_keep)});
    must_hash = job.id;
}

}  // namespace turnpike::sim
