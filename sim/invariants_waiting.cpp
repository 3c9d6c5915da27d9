// No job may wait that could run, neither for a free slot nor for a lane reserved for a lone ride.
#include <algorithm>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

bool has_waiting_job(const KnownPool& pool, const KnownLane& lane) {
    return !pool.queue.empty() || !lane.queue.empty();
}

void check_lane(Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    if (!has_waiting_job(pool, lane)) return;
    if (seen.can_take_jobs && seen.slots_free > 0)
        return broken(ledger, invariant::no_idle, "lane {} says that it takes jobs, and jobs wait",
                      show(lane.id));
    if (seen.is_reserved || lane.lone_ride != nullptr || ledger.free_slots(lane) == 0) return;
    if (ledger.serving_worker(lane) != nullptr)
        broken(ledger, invariant::no_idle, "lane {} serves and has a free slot, and jobs wait",
               show(lane.id));
}

/// No job may wait for lanes that are all off.
void check_jobs_without_lane(Ledger& ledger, const KnownPool& pool) {
    bool all_off = true;
    for (const KnownLane& lane : pool.lanes) {
        const bool off = is_off(ledger.seen_lane(lane.id).state);
        all_off = all_off && off;
        if (off && !lane.queue.empty())
            return broken(ledger, invariant::in_time, "jobs wait for lane {}, which is off",
                          show(lane.id));
    }
    if (all_off)
        broken(ledger, invariant::in_time, "jobs wait for pool {}, whose lanes are all off",
               show(pool.id));
}

/// True if the lane could be reserved for a job that must ride alone, or take it.
bool can_take_lone_job(Ledger& ledger, const KnownLane& lane, LaneId wanted) {
    return (wanted.is_none() || wanted == lane.id) && ledger.serving_worker(lane) != nullptr;
}

/// The engine must reserve the lane with the fewest attempts aboard. In the rest of the turn the
/// other lanes can only have got more.
void check_choice(Ledger& ledger, const KnownPool& pool, const KnownLane& reserved) {
    if (ledger.lane_before(reserved.id).is_reserved || reserved.lone_ride != nullptr) return;
    const bool may_all_go_anywhere = std::ranges::all_of(
        pool.alone, [&](const QueueKey& key) { return ledger.find(key.job)->wanted.is_none(); });
    for (const KnownLane& other : pool.lanes)
        if (may_all_go_anywhere && other.riders < reserved.riders &&
            other.riders + other.asides < reserved.riders + reserved.asides &&
            ledger.serving_worker(other) != nullptr)
            return broken(ledger, invariant::placement,
                          "lane {} is reserved, but lane {} has less aboard", show(reserved.id),
                          show(other.id));
}

void check_pool(Ledger& ledger, const KnownPool& pool) {
    const KnownLane* reserved = nullptr;
    for (const KnownLane& lane : pool.lanes) {
        if (!ledger.seen_lane(lane.id).is_reserved) continue;
        if (reserved != nullptr)
            return broken(ledger, invariant::alone, "two lanes of pool {} are reserved",
                          show(pool.id));
        reserved = &lane;
    }
    const bool is_job_waiting = !pool.alone.empty();
    const bool is_unclear = pool.perhaps_alone + pool.perhaps_lone_rides > 0;
    if (reserved != nullptr && !is_job_waiting && pool.lone_rides == 0 && !is_unclear)
        return broken(ledger, invariant::alone, "lane {} is reserved for nobody",
                      show(reserved->id));
    if (!is_job_waiting || pool.lone_rides > 0 || is_unclear) return;
    if (reserved == nullptr) {
        for (const QueueKey& key : pool.alone)
            for (const KnownLane& lane : pool.lanes)
                if (can_take_lone_job(ledger, lane, ledger.find(key.job)->wanted))
                    return broken(ledger, invariant::no_idle,
                                  "job {} must ride alone, but lane {} is not reserved for it",
                                  show(key.job), show(lane.id));
        return;
    }
    check_choice(ledger, pool, *reserved);
    if (reserved->riders + reserved->asides == 0 && ledger.serving_worker(*reserved) != nullptr)
        broken(ledger, invariant::no_idle, "lane {} is reserved and empty, and its job waits",
               show(reserved->id));
}

}  // namespace

void check_idle_lanes(Ledger& ledger) {
    for (const KnownPool& pool : ledger.pools) {
        if (pool.queued == 0) continue;
        check_jobs_without_lane(ledger, pool);
        for (const KnownLane& lane : pool.lanes) check_lane(ledger, pool, lane);
    }
}

void check_reservations(Ledger& ledger) {
    for (const KnownPool& pool : ledger.pools) check_pool(ledger, pool);
}

}  // namespace turnpike::sim
