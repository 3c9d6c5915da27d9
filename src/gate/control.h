// The own routes that change something: lanes are restarted, drained, resumed and looked into, pools
// restarted, reloaded and proved. An order is passed on and answered with 202; GET /-/status shows what comes
// of it. What is so already is no error.
#pragma once

#include "gate/own_routes.h"

namespace turnpike::control {

/// {"lane":0,"asked":"restart"}
OwnAnswered restart_lane(const OwnRequest&);
OwnAnswered drain_lane(const OwnRequest&);
OwnAnswered resume_lane(const OwnRequest&);
/// What is found goes to the lane's log, as lines of the stream "stacks".
OwnAnswered dump_stacks(const OwnRequest&);

/// {"pool":"chat","asked":"restart","lanes":[0,1]}
OwnAnswered restart_pool(const OwnRequest&);
/// {"pool":"chat","generation":4,"kind":"beside","asked":"reload"}; ?accept=1: a recorded proof may
/// differ.
OwnAnswered reload_pool(const OwnRequest&);
/// The same of each pool whose workers are ours: {"asked":"reload","pools":[…]}.
OwnAnswered reload_all(const OwnRequest&);
OwnAnswered prove_pool(const OwnRequest&);

}  // namespace turnpike::control
