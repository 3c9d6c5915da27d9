#include "core/placement.h"

#include <algorithm>
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

/// Returns how many slots the lane has for jobs of the queue now.
std::uint32_t slots_for_jobs(const State& s, const Lane& lane) {
    if (!is_available(lane) || lane.is_reserved()) return 0;
    if (lane.current->is_on_probation && lane.current->jobs_aboard() > 0) return 0;
    return lane::slots_free(s, lane);
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

void end_all(State& s, Rounds& rounds) {
    while (Job* job = rounds.any()) job::end(s, *job, EndReason::no_lane);
}

/// Ends the jobs that want a lane which is off. With them, clients may get their turns back.
void end_wanted(State& s, Pool& pool) {
    Job* next = nullptr;
    for (Job* job = pool.lone_riders.first(Duration::zero()); job != nullptr; job = next) {
        next = job->links.after;
        if (!admission::can_ever_serve(s, pool, job->wanted)) job::end(s, *job, EndReason::no_lane);
    }
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.mode != LaneMode::on) end_all(s, lane.queue);
    });
}

void dispatch_wanted(State& s, Pool& pool) {
    s.each_lane(pool, [&](Lane& lane) {
        while (!lane.queue.empty() && is_open(pool, lane))
            if (!attempt::send_next(s, lane)) break;
    });
}

bool may_be_reserved(const Lane& lane) { return is_available(lane) && !lane.is_reserved(); }

/// Returns the best lane for a job that must ride alone, or nullptr if it has to wait: the one with
/// least aboard. The lane where its worker died counts only if no other lane serves, or if the job has
/// waited long enough for another.
Lane* lane_for_lone_ride(State& s, const Pool& pool, const Job& job) {
    if (!job.wanted.is_none()) {
        Lane& wanted = s.lanes[job.wanted.value];
        return may_be_reserved(wanted) ? &wanted : nullptr;
    }
    Lane* best = nullptr;
    Lane* same = nullptr;
    bool does_another_serve = false;
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.id == job.died_on) {
            same = &lane;
            return;
        }
        does_another_serve =
            does_another_serve ||
            (lane.mode == LaneMode::on && lane.current != nullptr && lane.current->is_serving());
        if (!may_be_reserved(lane)) return;
        if (best == nullptr || lane::aboard(lane) < lane::aboard(*best)) best = &lane;
    });
    const bool may_ride_there = !does_another_serve || s.now >= job.avoids_until;
    if (same == nullptr || !may_ride_there || !may_be_reserved(*same)) return best;
    return best != nullptr && lane::aboard(*best) <= lane::aboard(*same) ? best : same;
}

void reserve(State& s, Pool& pool, Lane& lane, const Job& job) {
    lane.lone_ride = {.job = job.id, .attempt = {}};
    ++pool.lanes_reserved;
    refresh(s, lane);
}

void release(State& s, Pool& pool, Lane& lane) {
    lane.lone_ride = {};
    --pool.lanes_reserved;
    refresh(s, lane);
}

/// True if the reservation still makes sense: its attempt runs, or its job waits and the lane can
/// take it.
bool is_still_valid(State& s, const Lane& lane) {
    if (!lane.lone_ride.attempt.is_none())
        return s.attempts.find(lane.lone_ride.attempt) != nullptr;
    const Job* job = s.jobs.find(lane.lone_ride.job);
    return job != nullptr && job->state == JobState::queued && is_available(lane);
}

/// Reserves an empty lane instead, if the job still waits for this one to become empty.
void move_to_empty_lane(State& s, Pool& pool, Lane& lane) {
    if (!lane.lone_ride.attempt.is_none() || lane::aboard(lane) == 0) return;
    const Job& job = *s.jobs.find(lane.lone_ride.job);
    Lane* other = lane_for_lone_ride(s, pool, job);
    if (other == nullptr || lane::aboard(*other) > 0) return;
    release(s, pool, lane);
    reserve(s, pool, *other, job);
}

void board_if_empty(State& s, Lane& lane) {
    if (!lane.lone_ride.attempt.is_none() || lane::aboard(lane) > 0) return;
    Job& job = *s.jobs.find(lane.lone_ride.job);
    attempt::send_alone(s, lane, job);
    lane.lone_ride.attempt = job.attempt;
}

bool has_reservation(State& s, const Pool& pool, const Job& job) {
    bool has_lane = false;
    s.each_lane(pool,
                [&](const Lane& lane) { has_lane = has_lane || lane.lone_ride.job == job.id; });
    return has_lane;
}

bool has_lane_to_reserve(State& s, const Pool& pool) {
    bool has_lane = false;
    s.each_lane(pool, [&](const Lane& lane) { has_lane = has_lane || may_be_reserved(lane); });
    return has_lane;
}

/// Reserves lanes for the first jobs in line that can have one. At most half of the lanes, but at
/// least one, are used for that at a time.
void reserve_lanes(State& s, Pool& pool) {
    const std::uint32_t most = std::max(1U, pool.lanes_on / 2);
    for (const Job* job = pool.lone_riders.first(Duration::zero()); job != nullptr;
         job = job->links.after) {
        if (pool.lanes_reserved >= most || !has_lane_to_reserve(s, pool)) return;
        if (has_reservation(s, pool, *job)) continue;
        if (Lane* lane = lane_for_lone_ride(s, pool, *job)) reserve(s, pool, *lane, *job);
    }
}

/// Sends the jobs that must ride alone: reserves a lane for each, waits until the lane is empty,
/// sends the job, and waits for its end.
void dispatch_lone_riders(State& s, Pool& pool) {
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.is_reserved() && !is_still_valid(s, lane)) release(s, pool, lane);
    });
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.is_reserved()) move_to_empty_lane(s, pool, lane);
    });
    reserve_lanes(s, pool);
    s.each_lane(pool, [&](Lane& lane) {
        if (lane.is_reserved()) board_if_empty(s, lane);
    });
}

}  // namespace

void refresh(State& s, Lane& lane) {
    Pool& pool = s.pool_of(lane);
    const std::uint64_t bit = std::uint64_t{1} << lane.number_in_pool;
    if (const std::uint32_t slots = slots_for_jobs(s, lane); slots > 0) {
        pool.open_lanes |= bit;
        pool.placement_keys[lane.number_in_pool] = {lane.last_job, slots};
    } else {
        pool.open_lanes &= ~bit;
    }
}

void dispatch(State& s, Pool& pool) {
    if (pool.queued == 0 && pool.lanes_reserved == 0) return;
    if (pool.lanes_on == 0) {
        end_all(s, pool.rounds);
        end_all(s, pool.lone_riders);
    }
    if (pool.queued_for_lanes > 0) end_wanted(s, pool);
    if (!pool.lone_riders.empty() || pool.lanes_reserved > 0) dispatch_lone_riders(s, pool);
    while (pool.rounds.has_next()) {
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
        if (!may_be_reserved(lane)) return;
        if (!job.wanted.is_none() && job.wanted != lane.id) return;
        if (lane::asides(lane) >= pool.settings.aside_max) return;
        if (best == nullptr || lane::asides(lane) < lane::asides(*best)) best = &lane;
    });
    if (best == nullptr) return job::end(s, job, EndReason::aside_full);
    admission::no_longer_arriving(s, job);
    attempt::send_alone(s, *best, job);
}

}  // namespace turnpike::placement
