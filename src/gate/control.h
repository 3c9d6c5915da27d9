// The own routes that change something. They restart, drain and resume lanes, dump the stacks of
// their workers, and restart, reload and prove pools. A route passes the order on and answers 202
// at once; GET /-/status shows the result. An order that changes nothing, such as to
// drain a drained lane, is not an error.
#pragma once

#include "gate/own_routes.h"

namespace turnpike::control {

/// Answers {"lane":0,"asked":"restart"}.
OwnAnswered restart_lane(const OwnRequest&);
OwnAnswered drain_lane(const OwnRequest&);
OwnAnswered resume_lane(const OwnRequest&);
/// Writes the stacks to the lane's log, as lines of the stream "stacks".
OwnAnswered dump_stacks(const OwnRequest&);

/// Answers {"pool":"chat","asked":"restart","lanes":[0,1]}.
OwnAnswered restart_pool(const OwnRequest&);
/// Answers {"pool":"chat","generation":4,"kind":"beside","asked":"reload"}. With ?accept=1 the
/// result of a recorded proof may differ.
OwnAnswered reload_pool(const OwnRequest&);
/// Reloads each pool whose workers we start. Answers {"asked":"reload","pools":[…]}.
OwnAnswered reload_all(const OwnRequest&);
OwnAnswered prove_pool(const OwnRequest&);

}  // namespace turnpike::control
