// Trust: a lane that fails every job in 5 ms would take the whole queue. After fail_streak failures
// in a row the lane is distrusted, unless the other lanes fail, too: then the model is the cause.
// No client can bring that about alone, and none can aim at a lane.
#pragma once

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Worker;

namespace trust {

struct JobRun {
    Instant sent;
    ClientId client;
    bool is_pinned = false;  // the job asked for this lane
};

/// Counts the end of a job on this worker. Asides do not count.
void attempt_ended(State& s, Worker& worker, Verdict verdict, const JobRun& run);

}  // namespace trust
}  // namespace turnpike
