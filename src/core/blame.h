// Blame: what becomes of the jobs whose worker died, and who is to blame for the death.
//
// The death of a worker with jobs aboard opens a case. The jobs are its suspects: each rides once
// more, alone on a lane. A suspect whose ride ends with an answer or an error of the model is
// acquitted. If all are acquitted, the death is charged to the lane. If a suspect dies alone, it was
// that job. If the case can't be decided, nobody is charged.
#pragma once

#include <cstdint>

#include "core/words.h"

namespace turnpike {

struct State;
struct Attempt;
struct Job;
struct Lane;
struct Worker;

/// A case is closed when no suspect is left and the worker is dead. If the worker turns out to
/// live, there was no death, and the case is dropped.
struct Case {
    CaseId id;
    LaneId lane;
    Generation generation;
    std::uint32_t suspects = 0;    // jobs that have not had their next ride yet
    bool is_worker_dead = false;   // if not: a link broke, and the worker may be dying
    bool is_lane_cleared = false;  // a job is to blame, or the case can't be decided
    bool is_explained = false;     // by a poison job, or by one that wanted this lane
    std::uint64_t row = 0;         // the row of deaths in which it counts; 0 if in none
};

namespace blame {

/// Takes all attempts off a worker that is going down.
void worker_lost(State& s, Worker& worker, Reason why);

/// Closes the case of a worker that went down, if nobody is suspected any more.
void close_case_of(State& s, const Worker& worker);

/// Drops the case that a broken link opened: the worker answered a probe, so it lives.
void worker_lives(State& s, Worker& worker);

/// Must be called when a job ends. Its end may acquit it.
void suspect_ended(State& s, const Job& job, EndReason reason);

/// Clears the lane in all open cases.
void forgive(State& s, const Lane& lane);

/// Queues the job again. The attempt never reached its worker, so nobody is to blame.
void not_delivered(State& s, Attempt& attempt);

/// Queues the job once more, because the worker had closed the reused connection. Returns false if
/// the job may not be sent again for that reason; then nothing has changed.
[[nodiscard]] bool was_stale(State& s, Attempt& attempt);

/// Treats the broken link of one attempt like a death. The worker still seems to live.
void attempt_broke(State& s, Attempt& attempt);

}  // namespace blame
}  // namespace turnpike
