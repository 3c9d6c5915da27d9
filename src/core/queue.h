// A queue: the jobs that wait for a lane. Retries first, then by `since − priority × age_step`:
// FIFO within a priority, higher priorities first, and whoever has waited age_step longer makes up
// for one level, so nobody starves. Every operation takes constant time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "core/job.h"

namespace turnpike {

class Queue {
public:
    void push(Job& job);
    void remove(Job& job);

    /// Who goes next; nullptr if nobody waits.
    [[nodiscard]] Job* first(Duration age_step) const;

    /// Who has waited longest since it was queued, or queued again; nullptr if nobody waits.
    [[nodiscard]] const Job* oldest() const;

    /// Looks at every retried job: for people, not for the job path.
    [[nodiscard]] std::size_t retries_wanting(LaneId lane) const;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    using JobList = List<Job, &Job::links>;

    JobList& list_of(const Job& job);

    JobList retries_;
    std::array<JobList, Priority::levels> levels_;
    std::uint32_t levels_taken_ = 0;  // bit n: levels_[n] is not empty
    std::size_t size_ = 0;
};

/// Whether `a` leaves the queue before `b`, wherever each of them waits.
[[nodiscard]] bool is_before(const Job& a, const Job& b, Duration age_step);

}  // namespace turnpike
