#include "core/job.h"

#include <algorithm>

#include "core/admission.h"
#include "core/cancel.h"
#include "core/state.h"

namespace turnpike::job {

namespace {

Queue& queue_for(State& s, const Job& job) {
    if (job.must_ride_alone) return s.pool_of(job).lone_riders;
    return job.wanted.is_none() ? s.pool_of(job).queue : s.lanes[job.wanted.value].queue;
}

bool needs_advice(EndReason reason) {
    return reason == EndReason::bytes_full || reason == EndReason::queue_full ||
           reason == EndReason::waited_too_long || reason == EndReason::no_lane ||
           reason == EndReason::aside_full || reason == EndReason::shutting_down;
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
    s.timers.arm(job.timer, std::min(job.deadline, later(s.now, pool.settings.queue_wait_max)));
    s.touch(pool);
}

void dequeue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    job.queue->remove(job);
    --pool.queued;
    if (!job.wanted.is_none()) --pool.queued_for_lanes;
    s.timers.arm(job.timer, job.deadline);
}

void end(State& s, Job& job, EndReason reason) {
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
    const Duration advice =
        needs_advice(reason) ? admission::retry_after(s, pool) : Duration::zero();
    s.act(EndJob{job.id, reason, job.attempt, job.attempts, job.lane, advice});
    ++pool.counts.of(outcome_of(reason));
    s.bytes_held = s.bytes_held - job.bytes;
    s.timers.disarm(job.timer);
    s.jobs.remove(job);
    s.touch(pool);
    if (attempt != nullptr) cancel::abandon(s, *attempt);
}

void time_is_up(State& s, Job& job) {
    end(s, job, s.now >= job.deadline ? EndReason::deadline_passed : EndReason::waited_too_long);
}

}  // namespace turnpike::job
