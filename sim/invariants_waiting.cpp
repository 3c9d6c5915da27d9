// No job may wait that could run, neither for a free slot nor for a lane reserved for a lone ride.
#include <algorithm>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

bool has_waiting_job(Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    return Ledger::has_next(pool) || ledger.next_pinned(lane) != nullptr;
}

void check_lane(Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    if (!has_waiting_job(ledger, pool, lane)) return;
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
        if (off && lane.queued_for_lane > 0)
            return broken(ledger, invariant::in_time, "jobs wait for lane {}, which is off",
                          show(lane.id));
    }
    if (all_off)
        broken(ledger, invariant::in_time, "jobs wait for pool {}, whose lanes are all off",
               show(pool.id));
}

bool may_another_lane_serve(const Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    return std::ranges::any_of(pool.lanes, [&](const KnownLane& other) {
        return other.id != lane.id && !is_off(ledger.seen_lane(other.id).state) &&
               std::ranges::any_of(other.workers, [](const KnownWorker* worker) {
                   return worker->has_loaded() && !worker->is_ending();
               });
    });
}

/// True if the lane is certainly right for the lone ride of this job. On the lane where its worker died it
/// rides only if no other lane serves, or if it has waited long enough for another.
bool suits(Ledger& ledger, const KnownPool& pool, const QueueKey& key, const KnownLane& lane) {
    const KnownJob& job = *ledger.find(key.job);
    if (!job.wanted.is_none()) return job.wanted == lane.id;
    return job.died_on != lane.id || job.avoids_until_hi <= ledger.now ||
           !may_another_lane_serve(ledger, pool, lane);
}

/// True if the lane is certainly right for each job that must ride alone, in whatever order they are taken.
bool suits_all(Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    return std::ranges::all_of(pool.alone,
                               [&](const QueueKey& key) { return suits(ledger, pool, key, lane); });
}

bool suits_any(Ledger& ledger, const KnownPool& pool, const KnownLane& lane) {
    return std::ranges::any_of(pool.alone,
                               [&](const QueueKey& key) { return suits(ledger, pool, key, lane); });
}

/// The engine must reserve the lane with the fewest attempts aboard, and change to a lane that becomes
/// empty. In the rest of the turn the other lanes can only have got more.
void check_choice(Ledger& ledger, const KnownPool& pool, const KnownLane& reserved) {
    if (reserved.lone_ride != nullptr) return;
    if (pool.lone_end == ledger.turn) return;  // its lane may have been the better one
    const bool is_new = !ledger.lane_before(reserved.id).is_reserved;
    for (const KnownLane& other : pool.lanes) {
        if (ledger.seen_lane(other.id).is_reserved || ledger.lane_before(other.id).is_reserved ||
            !suits_all(ledger, pool, other) || ledger.serving_worker(other) == nullptr)
            continue;
        const bool has_less = other.riders < reserved.riders &&
                              other.riders + other.asides < reserved.riders + reserved.asides;
        const bool is_empty = other.riders + other.asides == 0;
        if (has_less && (is_new || is_empty))
            return broken(ledger, invariant::placement,
                          "lane {} is reserved, but lane {} has less aboard", show(reserved.id),
                          show(other.id));
    }
}

void check_pool(Ledger& ledger, const KnownPool& pool) {
    std::uint64_t reserved = 0;
    std::uint64_t reserved_before = 0;
    for (const KnownLane& lane : pool.lanes) {
        reserved_before += ledger.lane_before(lane.id).is_reserved ? 1 : 0;
        reserved += ledger.seen_lane(lane.id).is_reserved ? 1 : 0;
    }
    if (reserved > reserved_before && reserved > ledger.lone_rides_max(pool))
        return broken(ledger, invariant::alone, "{} lanes of pool {} are reserved", reserved,
                      show(pool.id));
    if (reserved > pool.alone.size() + pool.lone_rides)
        return broken(ledger, invariant::alone, "a lane of pool {} is reserved for nobody",
                      show(pool.id));
    for (const KnownLane& lane : pool.lanes) {
        if (!ledger.seen_lane(lane.id).is_reserved) continue;
        check_choice(ledger, pool, lane);
        if (lane.lone_ride == nullptr && lane.riders + lane.asides == 0 &&
            ledger.serving_worker(lane) != nullptr)
            return broken(ledger, invariant::no_idle,
                          "lane {} is reserved and empty, and its job waits", show(lane.id));
    }
    const bool does_job_lack_lane = pool.alone.size() + pool.lone_rides > reserved;
    if (!does_job_lack_lane || reserved >= ledger.lone_rides_allowed(pool)) return;
    // If every reservation is in use, no job that waits has one.
    const bool has_none_a_lane = reserved == pool.lone_rides;
    for (const KnownLane& lane : pool.lanes)
        if (!ledger.seen_lane(lane.id).is_reserved && ledger.serving_worker(lane) != nullptr &&
            (has_none_a_lane ? suits_any(ledger, pool, lane) : suits_all(ledger, pool, lane)))
            return broken(ledger, invariant::no_idle,
                          "a job must ride alone, but lane {} is not reserved for it",
                          show(lane.id));
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
