// Admission: who may come in, and while a body arrives, whether it may grow. Every limit is checked
// before the bytes are taken.
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

/// How long a job that came now would wait: (jobs ahead + 1) × slot time ÷ serving slots.
[[nodiscard]] Duration expected_wait(const State& s, const Pool& pool);

/// The same, as advice to a client that was turned away.
[[nodiscard]] Duration retry_after(const State& s, const Pool& pool);

/// Whether any lane, or the wanted one, may still serve.
[[nodiscard]] bool can_ever_serve(const State& s, const Pool& pool, LaneId wanted);

}  // namespace admission
}  // namespace turnpike
