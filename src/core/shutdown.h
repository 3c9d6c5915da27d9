// Shutdown: nothing new comes in, what was admitted may finish, then the workers end, then the gate
// may leave.
#pragma once

#include "base/time.h"

namespace turnpike {

struct State;

namespace shutdown {

void asked(State& s, Duration patience);

/// The end of patience.
void time_is_up(State& s);

/// Takes every step that the facts allow now.
void step(State& s);

}  // namespace shutdown
}  // namespace turnpike
