// What an operator can ask of a lane: to drain, to resume, to restart.
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
