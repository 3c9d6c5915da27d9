// The latest reload of a pool, as JSON.
#pragma once

#include "base/json_writer.h"
#include "gate/own_routes.h"

namespace turnpike {

/// Appends the latest reload, or null if there was none. Paths and what workers print are for
/// admins.
void append_reload(JsonWriter& json, const OwnRouteDeps& deps, const View& view, PoolId pool,
                   const Caller& caller);

}  // namespace turnpike
