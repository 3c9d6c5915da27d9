#include "core/health.h"

#include <algorithm>
#include <utility>

#include "core/state.h"

namespace turnpike::health {

namespace {

void send_probe(State& s, Worker& worker) {
    worker.pending_probe = worker.aboard.empty()                   ? PendingProbe::counts
                           : worker.aboard.size() == worker.closed ? PendingProbe::counts_if_refused
                                                                   : PendingProbe::ignored;
    worker.probe_sent = s.now;
    s.act(ProbeWorker{worker.id, ++worker.probe});
}

/// Counts a probe without an answer. Kills the worker if it was one too many.
void note_silence(State& s, Worker& worker) {
    if (++worker.probe_failures < s.pool_of(worker).settings.probe_failures_max) return;
    worker::bring_down(s, worker, Reason::not_answering, Stop::kill);
}

/// Returns when the pending probe becomes a failure if it is not answered.
Instant silent_at(State& s, const Worker& worker) {
    return later(worker.probe_sent, s.pool_of(worker).settings.probe_timeout);
}

void wait(State& s, Worker& worker) {
    s.timers.arm(worker.probe_timer, later(s.now, s.pool_of(worker).settings.probe_every));
}

/// Moves the next probe to an earlier time if it was postponed only because the last probe could
/// still be answered.
void bring_forward(State& s, Worker& worker) {
    const Duration every = s.pool_of(worker).settings.probe_every;
    const Instant silent = silent_at(s, worker);
    if (later(worker.probe_sent, every) <= s.now && s.now < silent)
        s.timers.arm(worker.probe_timer, std::min(later(s.now, every), silent));
}

}  // namespace

void begin(State& s, Worker& worker) { wait(s, worker); }

void probe_is_due(State& s, Worker& worker) {
    wait(s, worker);
    if (!worker.is_serving()) return;
    if (worker.pending_probe != PendingProbe::none && s.now < silent_at(s, worker))
        return s.timers.arm(worker.probe_timer, silent_at(s, worker));
    const bool is_in_doubt = worker.is_doubted || worker.closed > 0 || !worker.open_case.is_none();
    if (!worker.aboard.empty() && !is_in_doubt) return;
    const bool is_unanswered = worker.pending_probe == PendingProbe::counts;
    if (is_unanswered) note_silence(s, worker);
    if (worker.is_serving()) send_probe(s, worker);
}

void probe_ended(State& s, const ProbeEnded& event) {
    Worker* worker = s.workers.find(event.worker);
    if (worker == nullptr || !worker->is_serving()) return;
    if (worker->pending_probe == PendingProbe::none || event.probe != worker->probe) return;
    const bool does_count = worker->pending_probe == PendingProbe::counts;
    const bool does_refusal_count = worker->pending_probe != PendingProbe::ignored;
    forget_probe(s, *worker);
    switch (event.verdict) {
        case ProbeVerdict::answered:
            worker_answered(*worker);
            worker->is_doubted = false;
            blame::worker_lives(s, *worker);
            attempt::probe_answered(s, *worker, event.probe);
            if (worker->hold == Hold::probe) worker::lift_hold(s, *worker);
            if (worker->closed > 0) probe_soon(s, *worker);  // closed after this probe was sent
            return;
        case ProbeVerdict::silent:
            if (does_count) note_silence(s, *worker);
            return;
        case ProbeVerdict::refused:
            if (does_refusal_count)
                worker::bring_down(s, *worker, Reason::not_answering, Stop::kill);
            return;
        case ProbeVerdict::not_sent: return;  // the next probe is due as usual
    }
}

void forget_probe(State& s, Worker& worker) {
    const PendingProbe pending = std::exchange(worker.pending_probe, PendingProbe::none);
    if (pending != PendingProbe::none) bring_forward(s, worker);
}

void doubt(State& s, Worker& worker) {
    worker.is_doubted = true;
    worker::hold(s, worker, Hold::probe, Reason::link_doubted);
    wait(s, worker);
    send_probe(s, worker);
}

void probe_soon(State& s, Worker& worker) {
    const bool may_be_answered =
        worker.pending_probe != PendingProbe::none && s.now < silent_at(s, worker);
    if (!worker.is_serving() || may_be_answered) return;
    wait(s, worker);
    send_probe(s, worker);
}

void job_sent(Worker& worker) {
    if (worker.pending_probe != PendingProbe::none) worker.pending_probe = PendingProbe::ignored;
}

void worker_answered(Worker& worker) { worker.probe_failures = 0; }

}  // namespace turnpike::health
