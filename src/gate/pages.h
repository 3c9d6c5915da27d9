// The pages of the own routes, as JSON.
#pragma once

#include <string>

#include "gate/own_routes.h"
#include "telemetry/job_record.h"

namespace turnpike {

std::string status_page(const OwnRouteDeps& deps, const Caller& caller);
std::string jobs_page(const OwnRouteDeps& deps, const Caller& caller);
std::string job_page(const OwnRouteDeps& deps, const JobRecord& record, const Caller& caller);

/// Returns a line for each pool in which no lane serves. Empty if all pools are ready.
std::string pools_not_ready(const OwnRouteDeps& deps);

/// True if the caller may see the job: admins see every job, other keys only their own.
bool may_see(const Caller& caller, const JobRecord& record);

}  // namespace turnpike
