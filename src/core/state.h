// The whole state of the engine. The owners (job, attempt, worker, lane, …) are functions over it.
//
// An event changes facts and *touches* the lanes and pools whose facts it changed. Then settle()
// takes every step that the facts allow. So no decision is made while the facts are half changed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/slab.h"
#include "core/action.h"
#include "core/attempt.h"
#include "core/blame.h"
#include "core/client.h"
#include "core/job.h"
#include "core/lane.h"
#include "core/pool.h"
#include "core/settings.h"
#include "core/shutdown.h"
#include "core/timers.h"
#include "core/worker.h"

namespace turnpike {

struct State {
    explicit State(Settings settings);

    Settings settings;
    Slab<Job, JobId> jobs;
    Slab<Attempt, AttemptId> attempts;
    Slab<Worker, WorkerId> workers;
    Slab<Case, CaseId> cases;
    std::vector<Lane> lanes;
    std::vector<Pool> pools;
    std::vector<std::unique_ptr<ClientState>> clients;  // by ClientId
    std::uint32_t clients_active = 0;                   // those that have live jobs
    Timers timers;
    Random random;

    Instant now = Instant::min();
    bool is_open = false;
    Bytes bytes_held;
    Bytes bytes_arriving;  // those of jobs that arrive
    std::uint32_t arriving = 0;
    std::uint64_t latest_order = 0;
    std::uint32_t loading = 0;     // owned workers that are starting or loading
    std::deque<LaneId> load_line;  // lanes that wait for their turn to load
    Shutdown shutdown;

    std::vector<LaneId> touched_lanes;
    std::vector<PoolId> touched_pools;
    std::vector<Job*> batch;  // the batch that is being put together
    Actions* actions = nullptr;

    [[nodiscard]] Pool& pool_of(const auto& thing) { return pools[thing.pool.value]; }
    [[nodiscard]] const Pool& pool_of(const auto& thing) const { return pools[thing.pool.value]; }
    [[nodiscard]] Lane& lane_of(const Worker& worker) { return lanes[worker.lane.value]; }
    [[nodiscard]] Pool& pool_of(const Worker& worker) { return pool_of(lane_of(worker)); }
    [[nodiscard]] Pool& pool_of(const Attempt& attempt) { return pool_of(*attempt.worker); }
    [[nodiscard]] Lane* find_lane(LaneId id) {
        return id.value < lanes.size() ? &lanes[id.value] : nullptr;
    }
    [[nodiscard]] Pool* find_pool(PoolId id) {
        return id.value < pools.size() ? &pools[id.value] : nullptr;
    }

    void act(Action action) { actions->push_back(std::move(action)); }
    void touch(Lane& lane);
    void touch(Pool& pool);

    /// True if several jobs of this client were poison.
    [[nodiscard]] bool is_suspected(const ClientState& client) const {
        return now < client.suspected_until;
    }
    /// True if the next job of this line must ride alone: its client is suspected, and there are others
    /// to protect.
    [[nodiscard]] bool must_ride_alone(const Line& line) const {
        return is_suspected(*line.client) && pool_of(line).users.are_several(now);
    }

    void each_lane(const Pool& pool, auto&& visit) {
        for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) visit(lanes[pool.first_lane + i]);
    }
};

}  // namespace turnpike
