// How long each part of a worker's start took, for its lane's log.
#pragma once

#include <string>

#include "telemetry/lane_facts.h"

namespace turnpike {

/// "serves: warm, spawn 40 ms, import 31 ms, load 11 ms, proof 3 ms": the parts that are known.
[[nodiscard]] std::string start_text(const StartTimes& start);

/// "first job took 1200 ms", which nobody knows when it begins to serve.
[[nodiscard]] std::string first_job_text(Duration time);

}  // namespace turnpike
