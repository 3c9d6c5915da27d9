// What the own routes show, as JSON.
#pragma once

#include <string>

#include "gate/own_routes.h"
#include "telemetry/job_record.h"

namespace turnpike {

std::string status_page(const OwnRouteDeps& deps, const Caller& caller);
std::string jobs_page(const OwnRouteDeps& deps, const Caller& caller);
std::string job_page(const OwnRouteDeps& deps, const JobRecord& record, const Caller& caller);

/// A sentence for each pool in which no lane serves; empty: all are ready.
std::string pools_not_ready(const OwnRouteDeps& deps);

/// Plain keys see their own jobs.
bool may_see(const Caller& caller, const JobRecord& record);

}  // namespace turnpike
