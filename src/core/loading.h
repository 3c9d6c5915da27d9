// Loading: lanes that want to start a worker wait in one line. At most load_parallel_max workers
// load at once.
#pragma once

namespace turnpike {

struct State;
struct Lane;

namespace loading {

/// Puts the lane into the line if it needs a worker and may start one.
void line_up(State& s, Lane& lane);

/// Starts as many workers as may load now.
void start_next(State& s);

}  // namespace loading
}  // namespace turnpike
