// The last jobs that ended, newest first, in memory that never grows: a ring. Records are small; the
// stacks of slow jobs are not, so only those of the last few are kept.
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

    /// The oldest makes room.
    void add(const JobRecord& record);

    [[nodiscard]] std::size_t size() const { return size_; }

    /// 0 is the newest, size() - 1 the oldest.
    [[nodiscard]] const JobRecord& newest(std::size_t back) const;

    /// nullptr: never ended, or pushed out. Jobs that were refused have no JobId and are not found.
    [[nodiscard]] const JobRecord* find(JobId job) const;

    /// What its worker was doing while it ran far too long. The oldest makes room.
    void keep_stacks(JobId job, std::string stacks);
    /// Empty: there are none, or they were pushed out.
    [[nodiscard]] std::string_view stacks_of(JobId job) const;

private:
    struct Stacks {
        JobId job;
        std::string text;
    };

    std::vector<JobRecord> ring_;
    std::size_t next_ = 0;  // where the next one goes
    std::size_t size_ = 0;
    std::array<Stacks, stacks_max> stacks_;  // a ring too
    std::size_t stacks_next_ = 0;
};

}  // namespace turnpike
