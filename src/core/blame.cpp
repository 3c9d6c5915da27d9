#include "core/blame.h"

#include <cstdint>

#include "core/state.h"

namespace turnpike::blame {

namespace {

enum class Death : std::uint8_t {
    lone,         // the job was alone aboard
    shared,       // others were aboard, too
    ordered,      // we ended the worker; nobody is to blame
    undelivered,  // the attempt never reached the worker; nobody is to blame
};

constexpr std::uint8_t lone_deaths_max = 2;

void fail(State& s, Job& job, EndReason reason) {
    ++s.lanes[job.lane.value].failed;
    job::end(s, job, reason);
}

/// True if no lane of the pool carries more than one job at once. Asks all workers, the dying one
/// included; for a lane without a worker the settings of the pool count.
bool are_all_rides_lone(State& s, const Pool& pool) {
    bool are_lone = true;
    s.each_lane(pool, [&](const Lane& lane) {
        for (const Worker* worker : {lane.current, lane.other})
            are_lone = are_lone && (worker == nullptr || worker->is_limited_to_one_job());
        if (lane.current == nullptr && lane.other == nullptr)
            are_lone = are_lone && pool.settings.slots * pool.settings.batch == 1;
    });
    return are_lone;
}

void retry(State& s, Job& job, Death death) {
    Pool& pool = s.pool_of(job);
    if (death == Death::lone && ++job.lone_deaths >= lone_deaths_max)
        return fail(s, job, EndReason::poison);
    if ((death == Death::lone || death == Death::shared) && !are_all_rides_lone(s, pool))
        job.must_ride_alone = true;
    job.is_retry = true;
    --pool.running;
    job::enqueue(s, job);
}

void lose(State& s, Attempt& attempt, Death death) {
    Job* job = s.jobs.find(attempt.job);
    attempt::release(s, attempt);
    if (job == nullptr) return;
    if (job->has_answer_begun) return fail(s, *job, EndReason::stream_broken);
    const bool may_retry = s.pool_of(*job).settings.may_retry || death == Death::undelivered;
    if (job->is_aside || !may_retry) return fail(s, *job, EndReason::worker_died);
    retry(s, *job, death);
}

}  // namespace

void worker_lost(State& s, Worker& worker, Reason why) {
    const bool is_shared = worker.aboard.size() > 1;
    while (Attempt* attempt = worker.aboard.front()) {
        const Death death = worker::was_ordered(why)                    ? Death::ordered
                            : is_shared || attempt->was_in_shared_break ? Death::shared
                                                                        : Death::lone;
        lose(s, *attempt, death);
    }
}

void not_delivered(State& s, Attempt& attempt) { lose(s, attempt, Death::undelivered); }

void attempt_broke(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    const bool is_shared = worker.aboard.size() > 1 || attempt.was_in_shared_break;
    for (Attempt* other = worker.aboard.front(); other != nullptr; other = other->links.after)
        other->was_in_shared_break = true;
    lose(s, attempt, is_shared ? Death::shared : Death::lone);
}

}  // namespace turnpike::blame
