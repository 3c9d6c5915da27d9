// The latest reload of a pool, as JSON.
#pragma once

#include "base/json_writer.h"
#include "gate/own_routes.h"

namespace turnpike {

/// null: there was none. What workers print, and paths, are for admins.
void append_reload(JsonWriter& json, const OwnRouteDeps& deps, const View& view, PoolId pool,
                   const Caller& caller);

}  // namespace turnpike
