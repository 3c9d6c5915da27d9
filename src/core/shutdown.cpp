#include "core/shutdown.h"

#include <algorithm>

#include "core/state.h"

namespace turnpike::shutdown {

namespace {

void advance(State& s, ShutdownStage stage) {
    s.shutdown.stage = std::max(s.shutdown.stage, stage);
}

void end_workers(State& s, Stop how) {
    advance(s, ShutdownStage::stopping);
    for (Lane& lane : s.lanes) s.touch(lane);
    s.workers.each(
        [&](Worker& worker) { worker::bring_down(s, worker, Reason::shutting_down, how); });
}

bool have_all_workers_ended(State& s) {
    bool have_ended = true;
    s.workers.each(
        [&](const Worker& worker) { have_ended = have_ended && worker.has_survived_kill(); });
    return have_ended;
}

}  // namespace

void asked(State& s, Duration patience) {
    const Instant deadline = later(s.now, std::max(patience, Duration::zero()));
    if (s.shutdown.is_asked() && deadline >= s.shutdown.deadline) return;
    advance(s, ShutdownStage::finishing);
    s.shutdown.deadline = deadline;
    s.timers.arm(s.shutdown.timer, deadline);
    for (Pool& pool : s.pools) s.touch(pool);
    if (s.jobs.size() == 0) end_workers(s, Stop::ask);
}

void time_is_up(State& s) {
    s.jobs.each([&](Job& job) { job::end(s, job, EndReason::shutting_down); });
    end_workers(s, Stop::kill);
}

void step(State& s) {
    if (!s.shutdown.is_asked() || s.shutdown.stage == ShutdownStage::over) return;
    if (!s.shutdown.is_stopping() && s.jobs.size() == 0) end_workers(s, Stop::ask);
    if (!s.shutdown.is_stopping() || !have_all_workers_ended(s)) return;
    advance(s, ShutdownStage::over);
    s.timers.disarm(s.shutdown.timer);
    s.act(Leave{});
}

}  // namespace turnpike::shutdown
