#include "core/job.h"

#include <algorithm>

#include "core/admission.h"
#include "core/blame.h"
#include "core/cancel.h"
#include "core/state.h"

namespace turnpike::job {

namespace {

/// Returns when a queued job ends if no lane takes it.
Instant longest_wait_of(State& s, const Job& job) {
    return std::min(job.deadline, later(job.since, s.pool_of(job).settings.queue_wait_max));
}

/// Returns when something is due for a queued job: its end, or the lane that it has avoided.
Instant next_time_of(State& s, const Job& job) {
    return std::min(longest_wait_of(s, job), job.avoids_until > s.now ? job.avoids_until : never);
}

void put_in_queue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    if (job.must_ride_alone) return pool.lone_riders.push(job);
    if (!job.wanted.is_none()) return s.lanes[job.wanted.value].queue.push(job);
    pool.rounds.push(job, s.now);
}

void take_out_of_queue(State& s, Job& job) {
    if (job.must_ride_alone || !job.wanted.is_none()) return job.queue->remove(job);
    s.pool_of(job).rounds.remove(job);
}

}  // namespace

void enqueue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    const bool is_first_of_line = job.state == JobState::arriving && job.line->live++ == 0;
    if (is_first_of_line) pool.users.came();
    job.state = JobState::queued;
    job.since = s.now;
    job.order = ++s.latest_order;
    put_in_queue(s, job);
    ++pool.queued;
    if (job.line->queued++ == 0) ++pool.clients_waiting;
    if (!job.wanted.is_none())
        ++pool.queued_for_lanes, ++job.line->pinned, ++s.lanes[job.wanted.value].queued_for;
    s.timers.arm_by(job.timer, next_time_of(s, job));
    s.touch(pool);
}

void dequeue(State& s, Job& job) {
    Pool& pool = s.pool_of(job);
    take_out_of_queue(s, job);
    --pool.queued;
    if (--job.line->queued == 0) --pool.clients_waiting;
    if (job.wanted.is_none()) return;
    --pool.queued_for_lanes, --job.line->pinned, --s.lanes[job.wanted.value].queued_for;
}

void set_apart(State& s, Job& job, const Lane& lane) {
    Pool& pool = s.pool_of(job);
    take_out_of_queue(s, job);
    pool.rounds.hold(*job.line, job.id);
    job.must_ride_alone = job.is_retry = true;
    pool.lone_riders.push(job);
    s.act(ReportSuspect{job.id, lane.id});
    s.touch(pool);
}

void end(State& s, Job& job, EndReason reason, JobId first) {
    Pool& pool = s.pool_of(job);
    Attempt* attempt = nullptr;
    switch (job.state) {
        case JobState::arriving: admission::no_longer_arriving(s, job); break;
        case JobState::queued: dequeue(s, job); break;
        case JobState::running:
            --pool.running;
            attempt = s.attempts.find(job.attempt);
            break;
    }
    const Duration advice = admission::retry_after(s, *job.line, reason, job.wanted);
    s.act(EndJob{job.id, reason, job.attempt, job.attempts, job.lane, advice, first});
    ++pool.counts.of(outcome_of(reason));
    if (outcome_of(reason) == Outcome::refused) ++job.line->client->refused;
    s.bytes_held = s.bytes_held - job.bytes;
    ClientState& client = *job.line->client;
    client.bytes = client.bytes - job.bytes;
    if (--client.live == 0) --s.clients_active;
    const bool was_counted = job.state != JobState::arriving && !job.is_aside;
    if (was_counted && --job.line->live == 0) pool.users.left(*job.line, s.now);
    if (job.line->lone_job == job.id) pool.rounds.release(*job.line, s.now);
    s.timers.disarm(job.timer);
    blame::suspect_ended(s, job, reason);
    s.jobs.remove(job);
    s.touch(pool);
    if (attempt != nullptr) cancel::abandon(s, *attempt);
}

void time_is_up(State& s, Job& job) {
    if (s.now >= job.deadline) return end(s, job, EndReason::deadline_passed);
    if (job.state != JobState::queued) return s.timers.arm(job.timer, job.deadline);
    if (s.now >= longest_wait_of(s, job)) return end(s, job, EndReason::waited_too_long);
    s.timers.arm(job.timer, next_time_of(s, job));
    s.touch(s.pool_of(job));
}

}  // namespace turnpike::job
