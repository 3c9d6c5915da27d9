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

struct Job {
    JobId id;
    PoolId pool;
    LaneId wanted;  // none: any lane
    JobState state = JobState::arriving;
    Priority priority;
    bool is_aside = false;
    bool has_answer_begun = false;  // part of its answer has left: no retry
    bool is_retry = false;          // waits before all others
    bool must_ride_alone = false;   // must ride alone
    std::uint8_t lone_deaths = 0;
    std::uint32_t attempts = 0;
    Bytes bytes;
    Instant arrived;
    Instant deadline = never;
    Instant since;            // in this state
    std::uint64_t order = 0;  // of queueing, over all queues
    AttemptId attempt;        // the latest
    LaneId lane;              // of the latest attempt
    Queue* queue = nullptr;   // where it waits
    Links<Job> links;
    Timer timer;
};

namespace job {

/// Queues a job whose body is complete, or again after its attempt was lost (`retried`).
void enqueue(State& s, Job& job);

/// Takes a queued job out, to be sent.
void dequeue(State& s, Job& job);

/// The one answer. Frees whatever the job holds; a running attempt is abandoned to its lane's
/// cancel policy.
void end(State& s, Job& job, EndReason reason);

/// Its deadline or its longest wait has come.
void time_is_up(State& s, Job& job);

}  // namespace job
}  // namespace turnpike
