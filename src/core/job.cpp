#include "core/job.h"

#include <algorithm>

#include "core/admission.h"
#include "core/blame.h"
#include "core/cancel.h"
#include "core/state.h"

namespace turnpike::job {

namespace {

Queue& queue_for(State& s, const Job& job) {
    if (job.must_ride_alone) return s.pool_of(job).lone_riders;
    return job.wanted.is_none() ? s.pool_of(job).queue : s.lanes[job.wanted.value].queue;
}

/// Returns when a queued job ends if no lane takes it.
Instant longest_wait_of(State& s, const Job& job) {
    return std::min(job.deadline, later(job.since, s.pool_of(job).settings.queue_wait_max));
}

}  // namespace

void enqueue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    job.state = JobState::queued;
    job.since = s.now;
    job.order = ++s.latest_order;
    Queue& queue = queue_for(s, job);
    queue.push(job);
    ++pool.queued;
    if (!job.wanted.is_none()) ++pool.queued_for_lanes;
    s.timers.arm(job.timer, std::min(longest_wait_of(s, job),
                                     job.avoids_until > s.now ? job.avoids_until : never));
    s.touch(pool);
}

void dequeue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    job.queue->remove(job);
    --pool.queued;
    if (!job.wanted.is_none()) --pool.queued_for_lanes;
    s.timers.arm(job.timer, job.deadline);
}

void end(State& s, Job& job, EndReason reason, JobId first) {
    Pool& pool = s.pool_of(job);
    Attempt* attempt = nullptr;
    switch (job.state) {
        case JobState::arriving:
            --s.arriving;
            if (!job.is_aside) --pool.arriving;
            break;
        case JobState::queued: dequeue(s, job); break;
        case JobState::running:
            --pool.running;
            attempt = s.attempts.find(job.attempt);
            break;
    }
    const Duration advice = admission::retry_after(s, pool, reason, job.wanted);
    s.act(EndJob{job.id, reason, job.attempt, job.attempts, job.lane, advice, first});
    ++pool.counts.of(outcome_of(reason));
    s.bytes_held = s.bytes_held - job.bytes;
    s.timers.disarm(job.timer);
    blame::suspect_ended(s, job, reason);
    s.jobs.remove(job);
    s.touch(pool);
    if (attempt != nullptr) cancel::abandon(s, *attempt);
}

void time_is_up(State& s, Job& job) {
    if (s.now >= job.deadline) return end(s, job, EndReason::deadline_passed);
    if (s.now >= longest_wait_of(s, job)) return end(s, job, EndReason::waited_too_long);
    s.timers.arm(job.timer, longest_wait_of(s, job));
    s.touch(s.pool_of(job));
}

}  // namespace turnpike::job
