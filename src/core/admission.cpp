#include "core/admission.h"

#include <algorithm>
#include <optional>

#include "core/placement.h"
#include "core/poison.h"
#include "core/state.h"

namespace turnpike::admission {

namespace {

/// Returns why this pool, or the wanted lane, does not take one more job, or nullopt if it does.
std::optional<EndReason> objection_of(const State& s, const Pool& pool, LaneId wanted,
                                      bool is_aside) {
    if (!wanted.is_none() &&
        (wanted.value >= s.lanes.size() || s.lanes[wanted.value].pool != pool.id))
        return EndReason::lane_unknown;
    if (!can_ever_serve(s, pool, wanted)) return EndReason::no_lane;
    if (!is_aside && pool.arriving + pool.queued >= pool.settings.queue_jobs_max)
        return EndReason::queue_full;
    return std::nullopt;
}

std::optional<EndReason> objection(const State& s, const Pool& pool, const JobArrived& event) {
    if (s.shutdown.is_asked()) return EndReason::shutting_down;
    if (const auto reason = objection_of(s, pool, event.lane_wanted, event.is_aside)) return reason;
    if (s.arriving >= s.settings.arriving_max) return EndReason::arrivals_full;
    if (s.bytes_held + event.declared > s.settings.bytes_max) return EndReason::bytes_full;
    return std::nullopt;
}

Job& admit(State& s, Pool& pool, const JobArrived& event) {
    Job& job = s.jobs.add();
    job.pool = pool.id;
    job.wanted = event.lane_wanted;
    job.priority.level = std::min<std::uint8_t>(event.priority.level, Priority::levels - 1);
    job.is_aside = event.is_aside;
    job.bytes = event.declared;
    job.arrived = job.since = s.now;
    job.deadline = later(s.now, std::max(event.timeout, Duration::zero()));
    job.timer = {.kind = TimerKind::job, .owner = job.id.value};
    s.timers.arm(job.timer, job.deadline);
    s.bytes_held = s.bytes_held + job.bytes;
    ++s.arriving;
    if (!job.is_aside) ++pool.arriving;
    return job;
}

/// Counts the job's new size. Returns false if it does not fit; then the job has ended.
bool resize(State& s, Job& job, Bytes total) {
    total = std::max(total, job.bytes);
    if (s.bytes_held - job.bytes + total > s.settings.bytes_max) {
        job::end(s, job, EndReason::bytes_full);
        return false;
    }
    s.bytes_held = s.bytes_held - job.bytes + total;
    job.bytes = total;
    return true;
}

/// Returns the job if its body is still on its way, or nullptr.
Job* find_arriving(State& s, JobId id) {
    Job* job = s.jobs.find(id);
    return job != nullptr && job->state == JobState::arriving && !job->is_hashing ? job : nullptr;
}

void queue_up(State& s, Job& job) {
    --s.arriving;
    --s.pool_of(job).arriving;
    job::enqueue(s, job);
}

/// True if the reason may be gone after a while, so that it makes sense to send the job again.
bool can_pass(EndReason reason) {
    return reason == EndReason::queue_full || reason == EndReason::bytes_full ||
           reason == EndReason::arrivals_full || reason == EndReason::aside_full ||
           reason == EndReason::waited_too_long || reason == EndReason::shortage ||
           reason == EndReason::no_lane || reason == EndReason::shutting_down;
}

/// Returns how soon a failed lane that the job may use tries again, or nullopt if none will.
std::optional<Duration> next_try(const State& s, const Pool& pool, LaneId wanted) {
    std::optional<Duration> soonest;
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) {
        const Lane& lane = s.lanes[pool.first_lane + i];
        if (!lane.has_failed() || (!wanted.is_none() && wanted != lane.id)) continue;
        const Duration wait = lane::next_try(lane, s.now);
        soonest = std::min(soonest.value_or(wait), wait);
    }
    return soonest;
}

}  // namespace

bool can_ever_serve(const State& s, const Pool& pool, LaneId wanted) {
    return wanted.is_none() ? pool.lanes_on > 0 : s.lanes[wanted.value].mode == LaneMode::on;
}

void arrived(State& s, const JobArrived& event) {
    Pool* pool = s.find_pool(event.pool);
    if (pool == nullptr) return s.act(RefuseJob{event.ticket, event.pool, EndReason::no_lane, {}});
    if (const auto reason = objection(s, *pool, event)) {
        ++pool->counts.refused;
        s.act(RefuseJob{event.ticket, pool->id, *reason,
                        retry_after(s, *pool, *reason, event.lane_wanted)});
        return;
    }
    s.act(AdmitJob{event.ticket, admit(s, *pool, event).id});
}

void body_grew(State& s, const BodyGrew& event) {
    if (Job* job = find_arriving(s, event.job)) resize(s, *job, event.total);
}

void body_failed(State& s, const BodyFailed& event) {
    if (Job* job = find_arriving(s, event.job)) job::end(s, *job, EndReason::body_failed);
}

void routed(State& s, const JobRouted& event) {
    Job* job = find_arriving(s, event.job);
    Pool* pool = s.find_pool(event.pool);
    if (job == nullptr || pool == nullptr || pool->id == job->pool) return;
    const auto reason = objection_of(s, *pool, job->wanted, job->is_aside);
    if (!job->is_aside) --s.pool_of(*job).arriving, ++pool->arriving;
    job->pool = pool->id;
    if (reason) job::end(s, *job, *reason);
}

void body_completed(State& s, const BodyCompleted& event) {
    Job* job = find_arriving(s, event.job);
    if (job == nullptr || !resize(s, *job, event.total)) return;
    if (job->is_aside) return placement::send_aside(s, *job);
    if (!poison::may_equal_known(s, s.pool_of(*job), job->bytes)) return queue_up(s, *job);
    job->is_hashing = true;
    s.act(HashJob{job->id});
}

void hashed(State& s, const JobHashed& event) {
    for (Pool& pool : s.pools) poison::hashed(pool, event.job, event.digest);
    Job* job = s.jobs.find(event.job);
    if (job == nullptr || job->state != JobState::arriving || !job->is_hashing) return;
    job->is_hashing = false;
    job->was_compared = true;
    if (const Poison* known = poison::find(s, s.pool_of(*job), event.digest))
        return job::end(s, *job, EndReason::known_poison, known->first);
    queue_up(s, *job);
}

Duration expected_wait(const State& s, const Pool& pool) {
    if (pool.open_lanes != 0) return Duration::zero();
    std::uint64_t all = 0;
    std::uint64_t serving = 0;
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) {
        const Lane& lane = s.lanes[pool.first_lane + i];
        all += lane::slots(s, lane);
        if (lane.current != nullptr && lane.current->is_serving()) serving += lane::slots(s, lane);
    }
    const auto ahead = static_cast<std::int64_t>(pool.queued + 1);
    const Duration slot_time = std::min<Duration>(pool.pace.slot_time(), 1h);
    return slot_time * ahead / static_cast<std::int64_t>(serving > 0 ? serving : all);
}

Duration retry_after(const State& s, const Pool& pool, EndReason reason, LaneId wanted) {
    if (!can_pass(reason)) return Duration::zero();
    if (reason == EndReason::no_lane)
        if (const auto wait = next_try(s, pool, wanted))
            return std::max(*wait, s.settings.retry_after_min);
    return std::clamp(expected_wait(s, pool), s.settings.retry_after_min,
                      s.settings.retry_after_max);
}

}  // namespace turnpike::admission
