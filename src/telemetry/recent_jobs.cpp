#include "telemetry/recent_jobs.h"

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

}  // namespace turnpike
