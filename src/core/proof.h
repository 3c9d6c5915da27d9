// A proof: a real request whose right answer is known, or whose answer the lanes of a generation
// must agree on.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Pool;
struct Worker;

namespace proof {

/// Sends the proof. Nothing may be aboard.
void begin(State& s, Worker& worker);

void ended(State& s, const ProofEnded& event);

/// Makes every lane of the pool due for its proof, one lane at a time.
void asked(State& s, PoolId id);

/// Starts the periodic proof of one lane if one is due and none is in progress. If none is due yet,
/// sets the pool's timer for the next one.
void schedule(State& s, Pool& pool);

/// Must be called when a worker is going down: another lane may be due for its proof.
void worker_down(State& s, const Worker& worker);

}  // namespace proof
}  // namespace turnpike
