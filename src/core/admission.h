// Admission: which jobs may come in, and whether an arriving body may grow. Every limit is checked
// before the gate takes the bytes.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Pool;

namespace admission {

void arrived(State& s, const JobArrived& event);
void body_grew(State& s, const BodyGrew& event);
void body_failed(State& s, const BodyFailed& event);
void routed(State& s, const JobRouted& event);
void body_completed(State& s, const BodyCompleted& event);
void hashed(State& s, const JobHashed& event);

/// Returns how long a job that arrives now would wait: zero if a lane can take it now, otherwise
/// (queued jobs + 1) × slot time ÷ serving slots. If no lane serves, all slots count as serving.
[[nodiscard]] Duration expected_wait(const State& s, const Pool& pool);

/// Returns when a client may send a job again that ended so, or zero if that makes no sense: after the
/// expected wait within its configured bounds, or, with `no_lane`, when a failed lane tries again.
[[nodiscard]] Duration retry_after(const State& s, const Pool& pool, EndReason reason,
                                   LaneId wanted);

/// True if the wanted lane may still serve; if `wanted` is none, true if any lane of the pool may.
[[nodiscard]] bool can_ever_serve(const State& s, const Pool& pool, LaneId wanted);

}  // namespace admission
}  // namespace turnpike
