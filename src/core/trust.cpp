#include "core/trust.h"

#include "core/restart.h"
#include "core/state.h"

namespace turnpike::trust {

namespace {

bool is_another_lane_better(State& s, const Lane& lane) {
    bool is_found = false;
    s.each_lane(s.pool_of(lane), [&](const Lane& other) {
        if (other.id == lane.id || other.mode != LaneMode::on || other.current == nullptr) return;
        is_found = is_found || (other.current->is_serving() && !other.current->did_latest_job_fail);
    });
    return is_found;
}

void succeeded(State& s, Worker& worker) {
    worker.did_latest_job_fail = false;
    worker.fail_streak = 0;
    worker.is_streak_of_several = false;
    if (!worker.is_on_probation) return;
    worker.is_on_probation = false;
    worker.rests_until = s.now;
    s.lane_of(worker).restart.rest_level = 0;
    if (worker.why == Reason::failing_jobs) worker::release_hold(s, worker);
}

void rest(State& s, Worker& worker) {
    worker.rests_until = later(s.now, restart::rest(s, s.lane_of(worker)));
    worker::hold(s, worker, Hold::rest, Reason::failing_jobs);
}

void distrust(State& s, Worker& worker) {
    const bool is_relapse = worker.is_on_probation;
    worker.is_on_probation = true;
    worker.distrusted_at = s.now;
    if (is_relapse || !worker.has_proof) return rest(s, worker);
    worker::hold(s, worker, Hold::prove, Reason::failing_jobs);
}

/// True if the worker has failed so many jobs in a row that it has to be judged.
bool is_streak_long(State& s, const Worker& worker) {
    const Pool& pool = s.pool_of(worker);
    return worker.fail_streak >= pool.settings.fail_streak &&
           (worker.is_streak_of_several || !pool.users.are_several(s.now));
}

void count_failure(Worker& worker, ClientId client) {
    worker.did_latest_job_fail = true;
    if (worker.fail_streak++ == 0)
        worker.streak_client = client;
    else if (worker.streak_client != client)
        worker.is_streak_of_several = true;
}

void failed(State& s, Worker& worker, const JobRun& run) {
    const Lane& lane = s.lane_of(worker);
    const Pool& pool = s.pool_of(lane);
    if (run.is_pinned && pool.users.are_several(s.now)) return;
    const bool was_streak_long = is_streak_long(s, worker);
    count_failure(worker, run.client);
    if (worker.role != Role::current) return;
    if (worker.is_on_probation && run.sent <= worker.distrusted_at)
        return;  // the job was sent before the lane was distrusted
    if (!worker.is_on_probation && !is_streak_long(s, worker)) return;
    if (is_another_lane_better(s, lane)) return distrust(s, worker);
    if (worker.is_on_probation || !was_streak_long) s.act(ReportModelFailing{pool.id, lane.id});
    worker.is_on_probation = false;
}

/// Requires a proof before the next job. The reason becomes proof_due, so that a success does not
/// release the hold. After a stronger hold the proof follows anyway.
void require_proof(State& s, Worker& worker) {
    if (!worker.has_proof) return;
    worker::hold(s, worker, Hold::prove, Reason::proof_due);
    if (worker.hold == Hold::prove) worker.why = Reason::proof_due;
}

}  // namespace

void attempt_ended(State& s, Worker& worker, Verdict verdict, const JobRun& run) {
    switch (verdict) {
        case Verdict::answered:
        case Verdict::bad_input: return succeeded(s, worker);
        case Verdict::out_of_memory: failed(s, worker, run); return require_proof(s, worker);
        case Verdict::model_failed:
        case Verdict::non_finite: return failed(s, worker, run);
        case Verdict::unhealthy:
        case Verdict::broken:
        case Verdict::undelivered:
        case Verdict::cancelled:
        case Verdict::closed:
        case Verdict::stale:
        case Verdict::shortage: return;
    }
}

}  // namespace turnpike::trust
