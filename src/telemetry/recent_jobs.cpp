#include "telemetry/recent_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace turnpike {

RecentJobs::RecentJobs(std::size_t kept) : ring_(kept) { CHECK(kept > 0); }

void RecentJobs::add(const JobRecord& record) {
    ring_[next_] = record;
    next_ = (next_ + 1) % ring_.size();
    if (size_ < ring_.size()) ++size_;
}

const JobRecord& RecentJobs::newest(std::size_t back) const {
    CHECK(back < size_);
    return ring_[(next_ + ring_.size() - 1 - back) % ring_.size()];
}

const JobRecord* RecentJobs::find(JobId job) const {
    if (job.is_none()) return nullptr;
    for (std::size_t back = 0; back < size_; ++back)
        if (const JobRecord& record = newest(back); record.job == job) return &record;
    return nullptr;
}

void RecentJobs::keep_stacks(JobId job, std::string stacks) {
    stacks_[stacks_next_] = {job, std::move(stacks)};
    stacks_next_ = (stacks_next_ + 1) % stacks_.size();
}

std::string_view RecentJobs::stacks_of(JobId job) const {
    if (job.is_none()) return {};
    const auto found = std::ranges::find(stacks_, job, &Stacks::job);
    return found == stacks_.end() ? std::string_view() : found->text;
}

}  // namespace turnpike
