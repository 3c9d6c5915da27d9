// Admission: which jobs may come in, and whether an arriving body may grow. Every limit is checked
// before the gate takes the bytes.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Job;
struct Line;
struct Pool;

namespace admission {

void arrived(State& s, const JobArrived& event);
void body_grew(State& s, const BodyGrew& event);
void body_failed(State& s, const BodyFailed& event);
void routed(State& s, const JobRouted& event);
void body_completed(State& s, const BodyCompleted& event);
void hashed(State& s, const JobHashed& event);

/// Must be called when a body is complete or its job ends.
void no_longer_arriving(State& s, const Job& job);

/// Returns how many jobs may go before the next job of this client, if it arrives now: those that it
/// has queued, and in each round one of every other client, but not more than there are.
[[nodiscard]] std::uint64_t jobs_ahead(const Pool& pool, const Line& line);

/// Returns the number of slots of the lanes that serve, or of all lanes if none does.
[[nodiscard]] std::uint64_t slots_serving(const State& s, const Pool& pool);

/// Returns how long a job with so many ahead of it waits: zero if a lane can take it now, otherwise
/// (jobs ahead + 1) × slot time ÷ serving slots.
[[nodiscard]] Duration expected_wait(const State& s, const Pool& pool, std::uint64_t jobs_ahead);

/// Returns when this client may send a job again that ended so: after its expected wait within the
/// configured bounds, or, with `no_lane`, when a failed lane tries again.
[[nodiscard]] Duration wait_before_retry(const State& s, const Line& line, EndReason reason,
                                         LaneId wanted);

/// Likewise, but zero if it makes no sense to send the job again.
[[nodiscard]] inline Duration retry_after(const State& s, const Line& line, EndReason reason,
                                          LaneId wanted) {
    return can_pass(reason) ? wait_before_retry(s, line, reason, wanted) : Duration::zero();
}

/// True if the wanted lane may still serve; if `wanted` is none, true if any lane of the pool may.
[[nodiscard]] bool can_ever_serve(const State& s, const Pool& pool, LaneId wanted);

}  // namespace admission
}  // namespace turnpike
