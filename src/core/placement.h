// Placement: which lane takes the next job, and which lanes are reserved for jobs that must ride
// alone.
#pragma once

namespace turnpike {

struct State;
struct Job;
struct Lane;
struct Pool;

namespace placement {

/// Updates whether the lane takes jobs. Must be called after every change of its facts.
void refresh(State& s, Lane& lane);

/// Sends every job that can be sent, and ends every job that can never be sent.
void dispatch(State& s, Pool& pool);

/// Sends an aside to the serving lane with the fewest asides, or ends it if all lanes are full.
void send_aside(State& s, Job& job);

}  // namespace placement
}  // namespace turnpike
