// Health: idle workers are probed. A busy worker may be too busy to answer, so only the silence of
// an idle worker counts. A worker with closed exchanges is probed, too: its answer shows that it is
// done with them.
#pragma once

#include "core/event.h"

namespace turnpike {

struct State;
struct Worker;

namespace health {

/// Starts the periodic probes. Must be called when the worker begins to serve.
void begin(State& s, Worker& worker);

void probe_is_due(State& s, Worker& worker);
void probe_ended(State& s, const ProbeEnded& event);

/// Ignores the result of a pending probe, because a proof begins.
void forget_probe(State& s, Worker& worker);

/// Holds the worker until it answers a probe, because a link to it broke.
void doubt(State& s, Worker& worker);

/// Probes the worker now, or as soon as the pending probe has ended.
void probe_soon(State& s, Worker& worker);

/// Must be called when a job is sent. A pending probe no longer counts, because the worker is busy.
void job_sent(Worker& worker);

/// Must be called when the worker answered a job, a probe or a proof. Clears its failed probes.
void worker_answered(Worker& worker);

}  // namespace health
}  // namespace turnpike
