#include "core/queue.h"

#include <bit>

namespace turnpike {

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
    for (std::uint32_t left = levels_taken_; left != 0; left &= left - 1) {
        Job* head = levels_[static_cast<std::size_t>(std::countr_zero(left))].front();
        if (best == nullptr || is_before(*head, *best, age_step)) best = head;
    }
    return best;
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
