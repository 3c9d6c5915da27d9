// The last jobs that ended, newest first, in memory that never grows: a ring. Records are small;
// the stacks of slow jobs are not, so only those of the last few are kept.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/job_record.h"

namespace turnpike {

class RecentJobs {
public:
    static constexpr std::size_t kept_max = 1000;
    static constexpr std::size_t stacks_max = 16;  // jobs whose stacks are kept

    explicit RecentJobs(std::size_t kept = kept_max);

    /// Adds a record; a full ring drops the oldest one.
    void add(const JobRecord& record);

    [[nodiscard]] std::size_t size() const { return size_; }

    /// Returns the newest record for 0, the oldest for size() - 1.
    [[nodiscard]] const JobRecord& newest(std::size_t back) const;

    /// Returns the record of the job, or nullptr if the job has not ended or its record was
    /// dropped. Refused jobs have no JobId and are not found.
    [[nodiscard]] const JobRecord* find(JobId job) const;

    /// Keeps the stacks of a job's worker, taken while the job ran far too long. Drops the oldest
    /// stacks if there are too many.
    void keep_stacks(JobId job, std::string stacks);
    /// Returns the stacks of the job's worker. Empty if there are none, or they were dropped.
    [[nodiscard]] std::string_view stacks_of(JobId job) const;

private:
    struct Stacks {
        JobId job;
        std::string text;
    };

    std::vector<JobRecord> ring_;
    std::size_t next_ = 0;  // where the next record goes
    std::size_t size_ = 0;
    std::array<Stacks, stacks_max> stacks_;  // also a ring
    std::size_t stacks_next_ = 0;
};

}  // namespace turnpike
