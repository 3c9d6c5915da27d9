// Where the records of ended jobs go: into the list of recent jobs, and into the job log.
#pragma once

#include "telemetry/log_sink.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

class JobArchive {
public:
    JobArchive(RecentJobs& recent, LogSink& log) : recent_(recent), log_(log) {}

    void add(const JobRecord& record) {
        recent_.add(record);
        log_.push(record);
    }
    void add(const JobStart& start) { log_.push(start); }
    void keep_stacks(JobId job, std::string stacks) { recent_.keep_stacks(job, std::move(stacks)); }

private:
    RecentJobs& recent_;
    LogSink& log_;
};

}  // namespace turnpike
