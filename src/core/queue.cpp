#include "core/queue.h"

#include <algorithm>

#include "base/bits.h"
#include "core/rounds.h"

namespace turnpike {

namespace {

/// Returns how long the client of a fresh job has waited for a turn, as core/rounds.h says.
Instant rank_of(const Job& job, Duration age_step) {
    const Instant since = std::max(job.since, job.line->latest_pinned_turn);
    const Instant held_back = std::min(job.line->latest_turn, later(since, age_step));
    return std::max(since, held_back) - age_step * job.turn_level;
}

bool is_of_open_line(const Job& job) { return job.line->lone_job.is_none(); }

}  // namespace

bool is_before(const Job& a, const Job& b, Duration age_step) {
    if (a.is_retry != b.is_retry) return a.is_retry;
    if (a.is_retry) return a.order < b.order;
    const Instant a_rank = a.since - age_step * a.priority.level;
    const Instant b_rank = b.since - age_step * b.priority.level;
    if (a_rank != b_rank) return a_rank < b_rank;
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.order < b.order;
}

Queue::JobList& Queue::list_of(const Job& job) {
    return job.is_retry ? retries_ : levels_[job.priority.level];
}

void Queue::push(Job& job) {
    list_of(job).push_back(job);
    if (!job.is_retry) levels_taken_ |= 1U << job.priority.level;
    job.queue = this;
    ++size_;
}

void Queue::remove(Job& job) {
    CHECK(job.queue == this);
    JobList& list = list_of(job);
    list.remove(job);
    if (!job.is_retry && list.empty()) levels_taken_ &= ~(1U << job.priority.level);
    job.queue = nullptr;
    --size_;
}

Job* Queue::first(Duration age_step) const {
    if (!retries_.empty()) return retries_.front();
    Job* best = nullptr;
    each_bit(levels_taken_, [&](std::size_t level) {
        Job* head = levels_[level].front();
        if (best == nullptr || is_before(*head, *best, age_step)) best = head;
    });
    return best;
}

void Queue::each_fresh(auto&& visit) const {
    each_bit(levels_taken_, [&](std::size_t level) {
        for (Job* job = levels_[level].front(); job != nullptr; job = JobList::after(*job))
            visit(*job);
    });
}

Candidate Queue::next_in_turn(Duration age_step) const {
    if (!retries_.empty()) return {.job = retries_.front(), .rank = {}};
    Candidate next;
    each_fresh([&](Job& job) {
        if (!is_of_open_line(job)) return;
        const Instant rank = rank_of(job, age_step);
        const bool goes_first = next.job == nullptr || rank < next.rank ||
                                (rank == next.rank && job.order < next.job->order);
        if (goes_first) next = {.job = &job, .rank = rank};
    });
    if (next.job == nullptr) return next;
    each_fresh([&](Job& job) {
        if (job.line == next.job->line && is_before(job, *next.job, age_step)) next.job = &job;
    });
    return next;
}

const Job* Queue::oldest() const {
    const Job* oldest = retries_.front();
    for (const Job* job = oldest; job != nullptr; job = job->links.after)
        if (job->since < oldest->since) oldest = job;  // a suspect keeps its time when set apart
    for (const JobList& level : levels_)
        if (!level.empty() && (oldest == nullptr || level.front()->since < oldest->since))
            oldest = level.front();
    return oldest;
}

}  // namespace turnpike
