// Trust: a lane that fails every job in 5 ms would take the whole queue. After fail_streak failures
// in a row the lane is distrusted, unless the other lanes fail, too: then the model is the cause.
#pragma once

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Worker;

namespace trust {

/// Counts the end of a job on this worker. `sent` is when the job was sent. Asides do not count.
void attempt_ended(State& s, Worker& worker, Verdict verdict, Instant sent);

}  // namespace trust
}  // namespace turnpike
