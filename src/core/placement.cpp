#include "core/placement.h"

#include <bit>
#include <cstdint>

#include "core/admission.h"
#include "core/state.h"

namespace turnpike::placement {

namespace {

/// True if the lane is on and its current worker serves without a hold.
bool is_available(const Lane& lane) {
    return lane.mode == LaneMode::on && lane.current != nullptr && lane.current->is_serving() &&
           lane.current->hold == Hold::none;
}

bool can_take_jobs(const State& s, const Lane& lane) {
    if (!is_available(lane) || s.pool_of(lane).lone_ride.lane == lane.id) return false;
    if (lane.current->is_on_probation) return lane::aboard(lane) == 0;
    return lane::slots_free(s, lane) > 0;
}

bool is_better(const PlacementKey& a, const PlacementKey& b) {
    return a.slots_free != b.slots_free ? a.slots_free > b.slots_free : a.last_job < b.last_job;
}

/// Returns the lane with the most free slots. Among equals, prefers the lane whose last job was
/// longest ago, then the lowest number. Returns nullptr if no lane takes jobs.
Lane* choose(State& s, const Pool& pool) {
    if (pool.open_lanes == 0) return nullptr;
    auto best = static_cast<unsigned>(std::countr_zero(pool.open_lanes));
    for (std::uint64_t left = pool.open_lanes & (pool.open_lanes - 1); left != 0;
         left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        if (is_better(pool.placement_keys[lane], pool.placement_keys[best])) best = lane;
    }
    return &s.lanes[pool.first_lane + best];
}

bool is_open(const Pool& pool, const Lane& lane) {
    return ((pool.open_lanes >> lane.number_in_pool) & 1U) != 0;
}

void end_all(State& s, Queue& queue) {
    while (Job* job = queue.first(Duration::zero())) job::end(s, *job, EndReason::no_lane);
}

/// Sends the jobs that want a certain lane, or ends them if that lane is off.
void dispatch_wanted(State& s, Pool& pool) {
    Job* next = nullptr;
    for (Job* job = pool.lone_riders.first(Duration::zero()); job != nullptr; job = next) {
        next = job->links.after;
        if (!admission::can_ever_serve(s, pool, job->wanted)) job::end(s, *job, EndReason::no_lane);
    }
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.mode != LaneMode::on) end_all(s, lane.queue);
        while (!lane.queue.empty() && is_open(pool, lane)) attempt::send_next(s, lane);
    });
}

Lane* lane_for_lone_ride(State& s, const Pool& pool, const Job& job) {
    Lane* best = nullptr;
    s.each_lane(pool, [&](Lane& lane) {
        if (!is_available(lane) || (!job.wanted.is_none() && job.wanted != lane.id)) return;
        if (best == nullptr || lane::aboard(lane) < lane::aboard(*best)) best = &lane;
    });
    return best;
}

void release_lane(State& s, Pool& pool) {
    Lane& lane = s.lanes[pool.lone_ride.lane.value];
    pool.lone_ride = {};
    refresh(s, lane);
}

/// True if the reservation still makes sense: its attempt runs, or its job waits and the lane can
/// take it.
bool is_still_valid(State& s, const LoneRide& ride) {
    if (!ride.attempt.is_none()) return s.attempts.find(ride.attempt) != nullptr;
    const Job* job = s.jobs.find(ride.job);
    return job != nullptr && job->state == JobState::queued &&
           is_available(s.lanes[ride.lane.value]);
}

void board_if_empty(State& s, Pool& pool) {
    LoneRide& ride = pool.lone_ride;
    Lane& lane = s.lanes[ride.lane.value];
    if (!ride.attempt.is_none() || lane::aboard(lane) > 0) return;
    Job& job = *s.jobs.find(ride.job);
    attempt::send_alone(s, lane, job);
    ride.attempt = job.attempt;
}

/// Reserves a lane for the first job in line that can have one. Stops at the first job that accepts
/// any lane: if there is no lane for that job, there is none for the others.
void reserve_lane(State& s, Pool& pool) {
    for (Job* job = pool.lone_riders.first(Duration::zero()); job != nullptr;
         job = job->links.after) {
        if (Lane* lane = lane_for_lone_ride(s, pool, *job)) {
            pool.lone_ride = {.lane = lane->id, .job = job->id, .attempt = {}};
            return refresh(s, *lane);
        }
        if (job->wanted.is_none()) return;
    }
}

/// Sends the jobs that must ride alone, one at a time: reserves a lane, waits until the lane is
/// empty, sends the job, and waits for its end.
void dispatch_lone_riders(State& s, Pool& pool) {
    if (!pool.lone_ride.lane.is_none() && !is_still_valid(s, pool.lone_ride)) release_lane(s, pool);
    if (pool.lone_ride.lane.is_none()) reserve_lane(s, pool);
    if (!pool.lone_ride.lane.is_none()) board_if_empty(s, pool);
}

}  // namespace

void refresh(State& s, Lane& lane) {
    Pool& pool = s.pool_of(lane);
    const std::uint64_t bit = std::uint64_t{1} << lane.number_in_pool;
    if (can_take_jobs(s, lane)) {
        pool.open_lanes |= bit;
        pool.placement_keys[lane.number_in_pool] = {lane.last_job, lane::slots_free(s, lane)};
    } else {
        pool.open_lanes &= ~bit;
    }
}

void dispatch(State& s, Pool& pool) {
    if (pool.queued == 0 && pool.lone_ride.lane.is_none()) return;
    if (pool.lanes_on == 0) {
        end_all(s, pool.queue);
        end_all(s, pool.lone_riders);
    }
    if (!pool.lone_riders.empty() || !pool.lone_ride.lane.is_none()) dispatch_lone_riders(s, pool);
    while (!pool.queue.empty()) {
        Lane* lane = choose(s, pool);
        if (lane == nullptr) break;
        attempt::send_next(s, *lane);
    }
    if (pool.queued_for_lanes > 0) dispatch_wanted(s, pool);
}

void send_aside(State& s, Job& job) {
    const Pool& pool = s.pool_of(job);
    Lane* best = nullptr;
    s.each_lane(pool, [&](Lane& lane) {
        if (!is_available(lane) || pool.lone_ride.lane == lane.id) return;
        if (!job.wanted.is_none() && job.wanted != lane.id) return;
        if (lane::asides(lane) >= pool.settings.aside_max) return;
        if (best == nullptr || lane::asides(lane) < lane::asides(*best)) best = &lane;
    });
    if (best == nullptr) return job::end(s, job, EndReason::aside_full);
    --s.arriving;
    attempt::send_alone(s, *best, job);
}

}  // namespace turnpike::placement
