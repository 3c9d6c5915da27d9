// A lane in GET /-/status.
#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "core/view.h"
#include "gate/own_routes.h"

namespace turnpike {

/// Appends the lane as a JSON object. `jobs` are its running jobs: JSON objects with commas between
/// them.
void append_lane(JsonWriter& json, const OwnRouteDeps& deps, const LaneView& lane,
                 const Caller& caller, std::string_view jobs);

}  // namespace turnpike
