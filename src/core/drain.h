// The orders of people to a lane: drain, resume, restart.
#pragma once

#include "core/words.h"

namespace turnpike {

struct State;

namespace drain {

void drain_asked(State& s, LaneId id);
void resume_asked(State& s, LaneId id);
void restart_asked(State& s, LaneId id);

}  // namespace drain
}  // namespace turnpike
