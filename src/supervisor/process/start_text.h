// Texts for the lane's log about how long a worker's start took.
#pragma once

#include <string>

#include "telemetry/lane_facts.h"

namespace turnpike {

/// Returns "serves: warm, spawn 40 ms, import 31 ms, load 11 ms, proof 3 ms". Phases that are not
/// known are left out.
[[nodiscard]] std::string start_text(const StartTimes& start);

/// Returns "first job took 1200 ms". The time is known only after the worker has served a job.
[[nodiscard]] std::string first_job_text(Duration time);

}  // namespace turnpike
