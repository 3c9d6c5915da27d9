// Health: idle workers are probed. A busy one may be too busy to answer, so only silence while idle
// counts.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Worker;

namespace health {

/// It serves from now on: probe it now and then.
void begin(State& s, Worker& worker);

void probe_is_due(State& s, Worker& worker);
void probe_ended(State& s, const ProbeEnded& event);

/// Whatever becomes of a probe that is under way is no matter: a proof begins.
void forget_probe(State& s, Worker& worker);

/// A link to it broke: nothing more is sent until it answers a probe.
void doubt(State& s, Worker& worker);

/// It is busy now: a probe under way says nothing any more.
void job_sent(Worker& worker);

/// It answered a job or a proof: it lives.
void worker_answered(Worker& worker);

}  // namespace health
}  // namespace turnpike
