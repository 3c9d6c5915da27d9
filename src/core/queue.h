// A queue: the jobs that wait for a lane. Retries go first, then jobs by `since − priority ×
// age_step`, smallest first: FIFO within a priority, higher priorities first. A job that has waited
// age_step longer makes up for one level, so no job starves. Every operation takes constant time,
// except next_in_turn() and oldest().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "core/job.h"

namespace turnpike {

/// A job that may go next, and how long its client has waited for a turn: the smaller, the longer.
/// The rank of a retry, and of no job, means nothing.
struct Candidate {
    Job* job = nullptr;
    Instant rank;
};

class Queue {
public:
    void push(Job& job);
    void remove(Job& job);

    /// Returns the job that goes next, or nullptr if the queue is empty.
    [[nodiscard]] Job* first(Duration age_step) const;

    /// For jobs of several clients: returns the first job of the client that goes next, where clients
    /// take turns. Passes over clients of which a job rides alone, retries aside. Visits every job.
    [[nodiscard]] Candidate next_in_turn(Duration age_step) const;

    /// Returns the job that was queued (or queued again) longest ago, or nullptr if the queue is
    /// empty. Visits every retry.
    [[nodiscard]] const Job* oldest() const;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    using JobList = List<Job, &Job::links>;

    JobList& list_of(const Job& job);
    void each_fresh(auto&& visit) const;

    JobList retries_;
    std::array<JobList, Priority::levels> levels_;
    std::uint32_t levels_taken_ = 0;  // bit n is set if levels_[n] is not empty
    std::size_t size_ = 0;
};

/// True if `a` goes before `b`, even if they wait in different queues.
[[nodiscard]] bool is_before(const Job& a, const Job& b, Duration age_step);

}  // namespace turnpike
