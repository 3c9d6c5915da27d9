// Proofs: a real request whose right answer is known, or on which the lanes of a generation agree.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Pool;
struct Worker;

namespace proof {

/// Sends the proof. Nothing is aboard.
void begin(State& s, Worker& worker);

void ended(State& s, const ProofEnded& event);

/// A person asks: every lane, one at a time.
void asked(State& s, PoolId id);

/// Sends one lane of the pool to its periodic proof if one is due and none is under way; else waits
/// for the next.
void schedule(State& s, Pool& pool);

/// The worker is going down.
void worker_down(State& s, const Worker& worker);

}  // namespace proof
}  // namespace turnpike
