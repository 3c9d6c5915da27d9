// Blame: what becomes of the jobs whose worker died under them. A job that was alone aboard is
// suspect and gets one more try; two such deaths make it poison. Jobs that shared the worker may be
// innocent: nothing is held against them, but each rides alone until it is known.
#pragma once

#include "core/words.h"

namespace turnpike {

struct State;
struct Attempt;
struct Worker;

namespace blame {

/// The worker is going down: takes everything off it.
void worker_lost(State& s, Worker& worker, Reason why);

/// The attempt never reached its worker: nobody is to blame, and nothing was tried yet.
void not_delivered(State& s, Attempt& attempt);

/// One attempt's link broke while the worker seems to live.
void attempt_broke(State& s, Attempt& attempt);

}  // namespace blame
}  // namespace turnpike
