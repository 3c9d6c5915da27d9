// Placement: which lane takes the next job, and the one lane that is kept for a job that must ride
// alone.
#pragma once

namespace turnpike {

struct State;
struct Job;
struct Lane;
struct Pool;

namespace placement {

/// Notes whether the lane takes jobs now. To be called after every change of its facts.
void refresh(State& s, Lane& lane);

/// Sends whatever can be sent, and ends what can never be.
void dispatch(State& s, Pool& pool);

/// Sends an aside to the serving lane with the fewest, or ends it.
void send_aside(State& s, Job& job);

}  // namespace placement
}  // namespace turnpike
