// Trust: a lane that fails everything in 5 ms would swallow the whole queue. After fail_streak
// failures in a row it is distrusted, unless the other lanes fail, too: then it is the model.
#pragma once

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Worker;

namespace trust {

/// A job (not an aside) that was sent then ended on this worker.
void attempt_ended(State& s, Worker& worker, Verdict verdict, Instant sent);

}  // namespace trust
}  // namespace turnpike
