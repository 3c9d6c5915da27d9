#include "core/state.h"

#include "base/check.h"

namespace turnpike {

namespace {

void check(const PoolSettings& pool) {
    CHECK(pool.lanes >= 1 && pool.lanes <= lanes_max);
    CHECK(pool.slots >= 1 && pool.slots <= slots_max);
    CHECK(pool.batch >= 1 && pool.batch <= batch_max);
    CHECK(pool.cancel != CancelPolicy::kill || pool.slots * pool.batch == 1);
    CHECK(pool.crash_limit >= 1 && pool.crash_limit <= crash_limit_max);
    CHECK(pool.probe_every > Duration::zero() && pool.proof_every > Duration::zero());
    CHECK(pool.probe_timeout > Duration::zero());
    CHECK(pool.restart_delay_min > Duration::zero());
    CHECK(pool.fail_streak >= 1 && pool.probe_failures_max >= 1);
}

}  // namespace

State::State(Settings given) : settings(std::move(given)), random(settings.seed) {
    CHECK(!settings.pools.empty());
    CHECK(settings.suspicion_keep > Duration::zero());
    std::size_t lane_count = 0;
    for (const PoolSettings& pool : settings.pools) {
        check(pool);
        lane_count += pool.lanes;
    }
    lanes.resize(lane_count);  // only here: timers and queues must not move in memory
    pools.resize(settings.pools.size());
    shutdown.timer.kind = TimerKind::shutdown;

    std::size_t next_lane = 0;
    for (std::size_t p = 0; p < pools.size(); ++p) {
        Pool& pool = pools[p];
        pool.id = PoolId{p};
        pool.settings = settings.pools[p];
        pool.first_lane = next_lane;
        pool.lanes_on = pool.settings.lanes;
        pool.proof_timer = {.kind = TimerKind::proof, .owner = p};
        for (std::uint32_t i = 0; i < pool.settings.lanes; ++i, ++next_lane) {
            Lane& lane = lanes[next_lane];
            lane.id = LaneId{next_lane};
            lane.pool = pool.id;
            lane.number_in_pool = i;
            lane.timer = {.kind = TimerKind::lane, .owner = next_lane};
        }
    }
}

void State::touch(Lane& lane) {
    touch(pool_of(lane));
    if (lane.is_touched) return;
    lane.is_touched = true;
    touched_lanes.push_back(lane.id);
}

void State::touch(Pool& pool) {
    if (pool.is_touched) return;
    pool.is_touched = true;
    touched_pools.push_back(pool.id);
}

}  // namespace turnpike
