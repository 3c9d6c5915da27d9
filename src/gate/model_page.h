// The parts of /-/status that only pools with a model have. Where things lie and what a worker says
// is for admins: nobody knows what it tells.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "config/config.h"
#include "core/words.h"
#include "gate/access.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

/// "models/digits.py:Digits"; for others than admins "digits.py:Digits"
std::string model_name(const ModelChoice& model, const Caller& caller);

/// The members that a lane has beside those of all lanes.
void append_native(JsonWriter& json, const WorkerFacts& facts, LaneState state,
                   const Caller& caller);

}  // namespace turnpike
