// A job: one request of a client, from admission to its one answer.
//
//            ┌───── retry ──────┐
//            ▼                  │
//   arriving ─▶ queued ─▶ running ─▶ (ended: it leaves the slab)
//       └──────────┴────────────────▶ (ended)
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/list.h"
#include "base/time.h"
#include "core/timers.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike {

struct State;
class Queue;
struct Lane;
struct Line;

struct Job {
    JobId id;
    PoolId pool;
    LaneId wanted;  // none means any lane
    JobState state = JobState::arriving;
    Line* line = nullptr;  // its client's, in its pool
    Priority priority;
    std::uint8_t turn_level = 0;  // its priority, as far as it counts against other clients
    bool is_aside = false;
    bool has_answer_begun = false;  // part of it went to the client: no retry
    bool is_retry = false;      // goes before all jobs that are not retries, or its turn has come
    bool is_hashing = false;    // its body is complete; it may equal a known poison
    bool was_compared = false;  // it differs from the poisons that were known when it came
    bool was_stale = false;     // it went back to the queue once because a connection was stale
    bool must_ride_alone =
        false;  // a worker died under it: it runs only when nothing else is aboard
    std::uint8_t lone_deaths = 0;  // workers of generation `died_in` that died with only it aboard
    CaseId suspect_in;             // the case that waits for its next ride
    LaneId died_on;                // where the latest worker died under it
    Generation died_in;
    Instant died_at;
    Instant avoids_until;  // until then it rides elsewhere, if another lane serves
    std::uint32_t attempts = 0;
    Bytes bytes;     // as many as are counted
    Bytes received;  // as many as have come
    Instant arrived;
    Instant deadline = never;
    Instant since;            // in this state
    std::uint64_t order = 0;  // counts over all queues; set when the job is queued
    AttemptId attempt;        // the latest
    LaneId lane;              // where the latest attempt ran
    Queue* queue = nullptr;   // where it waits
    Links<Job> links;
    Timer timer;
};

namespace job {

/// Queues a job whose body is complete, or queues it again after its attempt was lost (`is_retry`).
void enqueue(State& s, Job& job);

/// Takes a job out of its queue, so that it can be sent or ended.
void dequeue(State& s, Job& job);

/// Lets a waiting job ride alone, because its client is suspected and its turn has come. `lane` has a
/// free slot.
void set_apart(State& s, Job& job, const Lane& lane);

/// Gives the job its one answer and frees whatever it holds. A running attempt is abandoned: the
/// pool's cancel policy decides what becomes of it. `first` is the equal job, for `known_poison`.
void end(State& s, Job& job, EndReason reason, JobId first = {});

/// Ends the job if its deadline or its longest wait has come. Otherwise it may now ride on the lane that
/// it has avoided.
void time_is_up(State& s, Job& job);

}  // namespace job
}  // namespace turnpike
