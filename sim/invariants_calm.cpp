// What must hold when nothing has gone wrong for a long time: every accepted job is answered, and
// every lane that can serve does.
#include <algorithm>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

void check_lane(Ledger& ledger, const KnownLane& lane, Healed healed) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const PoolView& pool = ledger.seen_pool(lane.pool);
    if (healed == Healed::no && is_off(seen.state)) return;
    if (!seen.other.is_none() || lane.workers.size() > 1)
        return broken(ledger, invariant::calm, "lane {} has two workers", show(lane.id));
    const bool is_proving_again = seen.state == LaneState::proving &&
                                  std::ranges::any_of(lane.workers, [](const KnownWorker* worker) {
                                      return worker->proof.has_ever_passed();
                                  });
    if (seen.state != LaneState::ready && !is_proving_again)
        return broken(ledger, invariant::calm, "lane {} is {} ({})", show(lane.id),
                      name_of(seen.state), name_of(seen.reason));
    if (!seen.can_take_jobs && !is_proving_again)
        return broken(ledger, invariant::calm, "lane {} is ready, but takes no jobs",
                      show(lane.id));
    if (seen.generation != pool.good)
        return broken(ledger, invariant::calm, "lane {} runs generation {}, good is {}",
                      show(lane.id), show(seen.generation), show(pool.good));
}

}  // namespace

void check_calm(Ledger& ledger, Healed healed) {
    const View& seen = ledger.seen;
    if (!ledger.jobs.empty() || seen.jobs != 0)
        return broken(ledger, invariant::calm, "{} jobs live", ledger.jobs.size());
    if (!ledger.attempts.empty() || seen.attempts != 0)
        return broken(ledger, invariant::calm, "{} attempts are aboard", ledger.attempts.size());
    for (const PoolView& pool : seen.pools)
        if (pool.queued + pool.arriving + pool.running != 0)
            return broken(ledger, invariant::calm, "pool {} is not empty", show(pool.pool));
    if (seen.bytes_held.count != 0)
        return broken(ledger, invariant::calm, "{} bytes are held", seen.bytes_held.count);
    if (ledger.is_shutting_down) {
        if (!ledger.has_left)
            broken(ledger, invariant::calm, "shutdown was asked for, and {} workers are left",
                   seen.workers);
        return;
    }
    for (const KnownLane& lane : ledger.lanes) check_lane(ledger, lane, healed);
    for (const KnownPool& pool : ledger.pools) {
        const bool has_lane_on = std::ranges::any_of(pool.lanes, [&](const KnownLane& lane) {
            return !is_off(ledger.seen_lane(lane.id).state);
        });
        if (has_lane_on && !ledger.seen_pool(pool.id).reloading.is_none())
            return broken(ledger, invariant::calm, "pool {} still reloads", show(pool.id));
    }
}

}  // namespace turnpike::sim
