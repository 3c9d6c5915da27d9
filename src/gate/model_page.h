// The parts of /-/status that only pools with a model have. Paths and what a worker says are only
// for admins, because they may be confidential.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "config/config.h"
#include "core/words.h"
#include "gate/access.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

/// Returns "models/digits.py:Digits" for admins, and "digits.py:Digits" for others.
std::string model_name(const ModelChoice& model, const Caller& caller);

/// Appends the members that only native lanes have.
void append_native(JsonWriter& json, const WorkerFacts& facts, LaneState state,
                   const Caller& caller);

}  // namespace turnpike
