// Blame: what becomes of the jobs whose worker died. A job that was alone aboard is suspect and
// gets one more try; a second such death makes it poison. If several jobs were aboard, nobody knows
// which one is guilty: nothing is counted against them, but each must ride alone from then on.
#pragma once

#include "core/words.h"

namespace turnpike {

struct State;
struct Attempt;
struct Worker;

namespace blame {

/// Takes all attempts off a worker that is going down.
void worker_lost(State& s, Worker& worker, Reason why);

/// Queues the job again. The attempt never reached its worker, so nobody is to blame.
void not_delivered(State& s, Attempt& attempt);

/// Treats the broken link of one attempt like a death. The worker still seems to live.
void attempt_broke(State& s, Attempt& attempt);

}  // namespace blame
}  // namespace turnpike
