#include "core/engine.h"

#include <algorithm>
#include <utility>

#include "core/admission.h"
#include "core/cancel.h"
#include "core/drain.h"
#include "core/health.h"
#include "core/loading.h"
#include "core/placement.h"
#include "core/proof.h"
#include "core/reload.h"
#include "core/shutdown.h"
#include "core/state.h"

namespace turnpike {

namespace {

void end_job(State& s, JobId id, EndReason reason) {
    if (Job* job = s.jobs.find(id)) job::end(s, *job, reason);
}

void open(State& s) {
    s.is_open = true;
    for (Lane& lane : s.lanes) s.touch(lane);
}

/// Routes every event to its owner.
struct Router {
    State& s;

    void operator()(const JobArrived& e) const { admission::arrived(s, e); }
    void operator()(const BodyGrew& e) const { admission::body_grew(s, e); }
    void operator()(const BodyCompleted& e) const { admission::body_completed(s, e); }
    void operator()(const BodyFailed& e) const { admission::body_failed(s, e); }
    void operator()(const JobRouted& e) const { admission::routed(s, e); }
    void operator()(const JobHashed& e) const { admission::hashed(s, e); }
    void operator()(const ClientLeft& e) const { end_job(s, e.job, reason_of(e.why)); }
    void operator()(const CancelAsked& e) const { end_job(s, e.job, EndReason::cancel_asked); }
    void operator()(const ClientForgotten& e) const { client::forgotten(s, e); }
    void operator()(const WorkerStarted& e) const { worker::started(s, e.worker); }
    void operator()(const LoadProgressed& e) const { worker::load_progressed(s, e.worker); }
    void operator()(const WorkerReady& e) const { worker::ready(s, e); }
    void operator()(const WorkerExited& e) const { worker::exited(s, e); }
    void operator()(const WorkerGone& e) const { worker::gone(s, e.worker, e.memory); }
    void operator()(const WorkerMisbehaved& e) const { worker::misbehaved(s, e.worker); }
    void operator()(const AnswerBegun& e) const { attempt::begun(s, e); }
    void operator()(const AnswerMoved& e) const { attempt::moved(s, e); }
    void operator()(const AttemptEnded& e) const { attempt::ended(s, e); }
    void operator()(const ProbeEnded& e) const { health::probe_ended(s, e); }
    void operator()(const ProofEnded& e) const { proof::ended(s, e); }
    void operator()(const MemoryFreed& e) const { lane::memory_freed(s, e.lane); }
    void operator()(const GpuLost& e) const { lane::gpu_lost(s, e.lane); }
    void operator()(const GateOpened&) const { open(s); }
    void operator()(const DrainAsked& e) const { drain::drain_asked(s, e.lane); }
    void operator()(const ResumeAsked& e) const { drain::resume_asked(s, e.lane); }
    void operator()(const RestartAsked& e) const { drain::restart_asked(s, e.lane); }
    void operator()(const ReloadAsked& e) const { reload::asked(s, e); }
    void operator()(const ProveAsked& e) const { proof::asked(s, e.pool); }
    void operator()(const ShutdownAsked& e) const { shutdown::asked(s, e.patience); }
    void operator()(const TimePassed&) const {}
};

/// Routes every timer to its owner. The owner always exists, because it outlives its armed timer.
void fire(State& s, const Timer& timer) {
    switch (timer.kind) {
        case TimerKind::job: return job::time_is_up(s, *s.jobs.find(JobId{timer.owner}));
        case TimerKind::attempt:
            return attempt::time_is_up(s, *s.attempts.find(AttemptId{timer.owner}));
        case TimerKind::worker:
            return worker::time_is_up(s, *s.workers.find(WorkerId{timer.owner}));
        case TimerKind::probe:
            return health::probe_is_due(s, *s.workers.find(WorkerId{timer.owner}));
        case TimerKind::abandoned:
            return cancel::abandoned_too_long(s, *s.workers.find(WorkerId{timer.owner}));
        case TimerKind::lane: return s.touch(s.lanes[timer.owner]);
        case TimerKind::proof:
            s.pools[timer.owner].needs_proof_schedule = true;
            return s.touch(s.pools[timer.owner]);
        case TimerKind::shutdown: return shutdown::time_is_up(s);
    }
}

/// Takes every step that the facts of the touched lanes and pools allow, until no step is left.
/// Sending jobs comes last, because no other step waits for it.
void settle(State& s) {
    std::size_t lanes_done = 0;
    std::size_t pools_done = 0;
    std::size_t pools_served = 0;
    const auto is_settled = [&] {
        return lanes_done == s.touched_lanes.size() && pools_served == s.touched_pools.size();
    };
    while (!is_settled()) {
        if (lanes_done < s.touched_lanes.size()) {
            Lane& lane = s.lanes[s.touched_lanes[lanes_done++].value];
            lane.is_touched = false;
            lane::step(s, lane);
        } else if (pools_done < s.touched_pools.size()) {
            Pool& pool = s.pools[s.touched_pools[pools_done++].value];
            pool.is_touched = false;
            if (!s.load_line.empty()) loading::start_next(s);
            if (pool.has_reload()) reload::step(s, pool);
            if (pool.needs_proof_schedule) proof::schedule(s, pool);
        } else {
            placement::dispatch(s, s.pools[s.touched_pools[pools_served++].value]);
            shutdown::step(s);
        }
    }
}

}  // namespace

Engine::Engine(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

void Engine::handle(const Event& event, Instant now, Actions& actions) {
    State& s = *state_;
    s.now = std::max(s.now, now);
    s.actions = &actions;
    std::visit(Router{s}, event);
    settle(s);
    while (const Timer* timer = s.timers.take_due(s.now)) {
        fire(s, *timer);
        settle(s);
    }
    for (const LaneId id : s.touched_lanes) lane::report(s, s.lanes[id.value]);
    s.touched_lanes.clear();
    s.touched_pools.clear();
    s.actions = nullptr;
}

Instant Engine::next_deadline() const { return state_->timers.next(); }

}  // namespace turnpike
