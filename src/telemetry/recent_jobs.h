// The last jobs that ended, newest first, in memory that never grows: a ring.
#pragma once

#include <cstddef>
#include <vector>

#include "telemetry/job_record.h"

namespace turnpike {

class RecentJobs {
public:
    static constexpr std::size_t kept_max = 1000;

    explicit RecentJobs(std::size_t kept = kept_max);

    /// The oldest makes room.
    void add(const JobRecord& record);

    [[nodiscard]] std::size_t size() const { return size_; }

    /// 0 is the newest, size() - 1 the oldest.
    [[nodiscard]] const JobRecord& newest(std::size_t back) const;

    /// nullptr: never ended, or pushed out. Jobs that were refused have no JobId and are not found.
    [[nodiscard]] const JobRecord* find(JobId job) const;

private:
    std::vector<JobRecord> ring_;
    std::size_t next_ = 0;  // where the next one goes
    std::size_t size_ = 0;
};

}  // namespace turnpike
