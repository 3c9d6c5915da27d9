// Reload: from the generation that serves to a newer one, without a lane that serves code which has
// not proved itself.
//
//   idle ─▶ trying ─▶ spreading ─▶ idle
//              └─▶ given up (abandoned; superseded by newer code) ─▶ idle
//
// Trying: no worker of the new generation serves yet. Spreading: one does; it is the good one now,
// and every lane goes over to it. What is asked for meanwhile waits until it is through.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Lane;
struct Pool;
struct Worker;

namespace reload {

void asked(State& s, const ReloadAsked& event);

/// Takes every step that the facts allow now.
void step(State& s, Pool& pool);

/// A worker of this generation gave a wrong answer.
void proof_failed(State& s, Pool& pool, Generation generation);

/// Whether this is the worker that tries the new generation, in place.
[[nodiscard]] bool is_trial(const State& s, const Lane& lane, const Worker& worker);
void trial_ended(State& s, Lane& lane);

/// What the lane's next current worker runs.
[[nodiscard]] Generation generation_for(const State& s, const Lane& lane);

}  // namespace reload
}  // namespace turnpike
