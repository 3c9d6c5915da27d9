#include "core/blame.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/health.h"
#include "core/poison.h"
#include "core/restart.h"
#include "core/state.h"

namespace turnpike::blame {

namespace {

constexpr std::uint8_t lone_deaths_max = 2;

void fail(State& s, Job& job, EndReason reason) {
    ++s.lanes[job.lane.value].failed;
    job::end(s, job, reason);
}

void retry(State& s, Job& job) {
    job.is_retry = true;
    --s.pool_of(job).running;
    job::enqueue(s, job);
}

/// Returns the case of this worker. A broken link may have opened it already.
Case& case_of(State& s, Worker& worker) {
    if (Case* open = s.cases.find(worker.open_case)) return *open;
    Case& opened = s.cases.add();
    opened.lane = worker.lane;
    opened.generation = worker.generation;
    worker.open_case = opened.id;
    return opened;
}

void close_if_over(State& s, Case& it) {
    if (it.suspects > 0 || !it.is_worker_dead) return;
    const Case closed = it;
    s.cases.remove(it);
    Lane& lane = s.lanes[closed.lane.value];
    if (!closed.is_lane_cleared && closed.generation == s.pool_of(lane).good)
        restart::charge(s, lane);
}

/// A job explains the death, so the death says nothing about its lane. It may be yet to come.
void explain(State& s, Case& it) {
    it.is_explained = true;
    restart::take_out_of_row(s.lanes[it.lane.value], std::exchange(it.row, 0));
}

/// The job killed another worker, so its earlier death says nothing about the lane where it was.
void explain_earlier_death(State& s, const Job& job) {
    if (Case* it = s.cases.find(job.suspect_in)) explain(s, *it);
}

/// Takes the job, under which another worker died, out of its earlier case: that lane was not to
/// blame.
void clear_lane_of_earlier_case(State& s, Job& job) {
    Case* it = s.cases.find(job.suspect_in);
    job.suspect_in = {};
    if (it == nullptr) return;
    it->is_lane_cleared = true;
    --it->suspects;
    close_if_over(s, *it);
}

bool is_acquitted_by(EndReason reason) {
    switch (reason) {
        case EndReason::answered:
        case EndReason::bad_input:
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory: return true;
        case EndReason::worker_died:
        case EndReason::poison:
        case EndReason::known_poison:
        case EndReason::stream_broken:
        case EndReason::deadline_passed:
        case EndReason::ran_too_long:
        case EndReason::waited_too_long:
        case EndReason::no_lane:
        case EndReason::lane_unknown:
        case EndReason::queue_full:
        case EndReason::bytes_full:
        case EndReason::arrivals_full:
        case EndReason::lane_queue_full:
        case EndReason::client_limit:
        case EndReason::crowded_out:
        case EndReason::body_failed:
        case EndReason::shortage:
        case EndReason::aside_full:
        case EndReason::rate_exceeded:
        case EndReason::shutting_down:
        case EndReason::client_left:
        case EndReason::cancel_asked:
        case EndReason::client_too_slow:
        case EndReason::answers_full:
        case EndReason::answer_lost: return false;
    }
    return false;
}

/// True if workers have exited both times, not only broken their links, and if the job died on two
/// lanes, or its lane answered another job between its deaths. Otherwise the lane may be the cause of
/// both. `it` is the case of its latest death.
bool is_surely_poison(State& s, const Job& job, const Case& it) {
    const Case* earlier = s.cases.find(job.suspect_in);
    if (!it.is_worker_dead || earlier == nullptr || !earlier->is_worker_dead) return false;
    return job.died_on != it.lane || s.lanes[it.lane.value].last_answer > job.died_at;
}

/// Returns how long a suspect waits for another lane than the one where its worker died.
Duration patience_of(const Pool& pool) {
    return std::max<Duration>(1s, 2 * std::min<Duration>(pool.pace.usual(), 1h));
}

enum class Company : std::uint8_t { alone, shared };

/// Deals with the job of an attempt that died with its worker, or with its link.
void lose(State& s, Attempt& attempt, Company company, Case& it) {
    Worker& worker = *attempt.worker;
    Job* job = s.jobs.find(attempt.job);
    attempt::release(s, attempt);
    const bool can_ride_again = job != nullptr && !job->has_answer_begun && !job->is_aside &&
                                s.pool_of(*job).settings.may_retry;
    if (!can_ride_again || !job->wanted.is_none()) it.is_lane_cleared = true;
    if (job == nullptr) return;
    if (!job->wanted.is_none()) explain(s, it);
    if (job->has_answer_begun) return fail(s, *job, EndReason::stream_broken);
    if (!can_ride_again) return fail(s, *job, EndReason::worker_died);
    const bool is_sure = is_surely_poison(s, *job, it);
    if (company == Company::alone) explain_earlier_death(s, *job);
    clear_lane_of_earlier_case(s, *job);
    if (job->died_in != worker.generation) job->lone_deaths = 0;
    if (company == Company::alone && ++job->lone_deaths >= lone_deaths_max) {
        it.is_lane_cleared = true;
        explain(s, it);
        if (poison::found(s, *job, is_sure)) client::poisoned(s, *job->line->client);
        return fail(s, *job, EndReason::poison);
    }
    job->must_ride_alone = true;
    job->died_on = worker.lane;
    job->died_in = worker.generation;
    job->died_at = s.now;
    job->avoids_until = later(s.now, patience_of(s.pool_of(*job)));
    job->suspect_in = it.id;
    ++it.suspects;
    retry(s, *job);
}

/// Deals with the job of an attempt that ended through nobody's fault.
void put_back(State& s, Attempt& attempt, bool may_retry) {
    Job* job = s.jobs.find(attempt.job);
    attempt::release(s, attempt);
    if (job == nullptr) return;
    if (job->has_answer_begun) return fail(s, *job, EndReason::stream_broken);
    if (job->is_aside || !may_retry) return fail(s, *job, EndReason::worker_died);
    retry(s, *job);
}

/// Puts the jobs of a worker that we end back into the queue. If it was in trouble, nobody will
/// know the cause.
void end_by_order(State& s, Worker& worker) {
    if (Case* it = s.cases.find(worker.open_case)) it->is_worker_dead = it->is_lane_cleared = true;
    const bool may_retry = s.pool_of(worker).settings.may_retry;
    while (Attempt* attempt = worker.aboard.front()) put_back(s, *attempt, may_retry);
}

}  // namespace

void worker_lost(State& s, Worker& worker, Reason why) {
    if (worker::was_ordered(why)) return end_by_order(s, worker);
    const bool may_work_unseen = s.now < worker.perhaps_busy_until;
    if (worker.aboard.empty() && s.cases.find(worker.open_case) == nullptr && !may_work_unseen)
        return;
    Case& it = case_of(s, worker);
    it.is_worker_dead = true;
    // A lane that is off is charged for nothing, as after the death of an idle worker.
    const bool is_off = s.lane_of(worker).mode != LaneMode::on;
    it.is_lane_cleared = it.is_lane_cleared || may_work_unseen || is_off;
    const bool is_shared = worker.aboard.size() > 1;
    while (Attempt* attempt = worker.aboard.front()) {
        const bool is_alone = !is_shared && !attempt->was_in_shared_break;
        lose(s, *attempt, is_alone ? Company::alone : Company::shared, it);
    }
}

void close_case_of(State& s, const Worker& worker) {
    if (Case* it = s.cases.find(worker.open_case)) close_if_over(s, *it);
}

void worker_lives(State& s, Worker& worker) {
    if (Case* it = s.cases.find(worker.open_case)) s.cases.remove(*it);
    worker.open_case = {};
}

void suspect_ended(State& s, const Job& job, EndReason reason) {
    Case* it = s.cases.find(job.suspect_in);
    if (it == nullptr) return;
    if (!is_acquitted_by(reason)) it->is_lane_cleared = true;
    --it->suspects;
    close_if_over(s, *it);
}

void forgive(State& s, const Lane& lane) {
    s.cases.each([&](Case& it) { it.is_lane_cleared = it.is_lane_cleared || it.lane == lane.id; });
}

void not_delivered(State& s, Attempt& attempt) { put_back(s, attempt, true); }

bool was_stale(State& s, Attempt& attempt) {
    Job* job = s.jobs.find(attempt.job);
    if (job != nullptr) {
        const bool may_send_again = s.pool_of(*job).settings.may_retry && !job->is_aside &&
                                    !job->has_answer_begun && !job->was_stale;
        if (!may_send_again) return false;
        job->was_stale = true;
    }
    Worker& worker = *attempt.worker;
    case_of(s, worker).is_lane_cleared = true;  // the worker may be dying of this request
    put_back(s, attempt, true);
    health::probe_soon(s, worker);
    return true;
}

void attempt_broke(State& s, Attempt& attempt) {
    Worker& worker = *attempt.worker;
    const bool is_alone = worker.aboard.size() == 1 && !attempt.was_in_shared_break;
    for (Attempt* other = worker.aboard.front(); other != nullptr; other = other->links.after)
        other->was_in_shared_break = true;
    lose(s, attempt, is_alone ? Company::alone : Company::shared, case_of(s, worker));
}

}  // namespace turnpike::blame
