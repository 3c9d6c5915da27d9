// Reload: replaces the generation that serves by a newer one. No lane serves code that has not
// passed its proof.
//
//   idle ─▶ trying ─▶ spreading ─▶ idle
//              └─▶ given up (abandoned; superseded by newer code) ─▶ idle
//
// Trying: no worker of the new generation serves yet. Spreading: one serves; now it is the good
// generation, and every lane changes to it. A newer request waits until spreading is over.
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

/// Gives up the reload if it is trying this generation, of which a worker gave a wrong answer.
void proof_failed(State& s, Pool& pool, Generation generation);

/// True if this is the worker that tries the new generation in place.
[[nodiscard]] bool is_trial(const State& s, const Lane& lane, const Worker& worker);
void trial_ended(State& s, Lane& lane);

/// Must be called when a person restarts the lane: giving up the reload no longer turns it off.
void forget_trial_was_off(State& s, const Lane& lane);

/// Returns the generation that the lane's next current worker must run.
[[nodiscard]] Generation generation_for(const State& s, const Lane& lane);

}  // namespace reload
}  // namespace turnpike
