// Loading: lanes that want to start a worker stand in one line, and load_parallel_max of them load
// at a time.
#pragma once

namespace turnpike {

struct State;
struct Lane;

namespace loading {

/// Puts the lane into the line if it wants to start something.
void line_up(State& s, Lane& lane);

/// Starts as many as may load now.
void start_next(State& s);

}  // namespace loading
}  // namespace turnpike
