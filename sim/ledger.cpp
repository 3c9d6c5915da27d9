// How the ledger follows jobs and attempts.
#include "sim/ledger.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

template <class Map, class Key>
auto* find_in(Map& map, const Key& key) {
    const auto it = map.find(key);
    return it == map.end() ? nullptr : &it->second;
}

void remember(std::vector<std::uint64_t>& recent, std::uint64_t id) {
    constexpr std::size_t kept = 64;
    if (recent.size() < kept) return recent.push_back(id);
    recent[id % kept] = id;
}

bool is_acquitted_by(EndReason reason) {
    return reason == EndReason::answered || reason == EndReason::bad_input ||
           reason == EndReason::model_failed || reason == EndReason::non_finite ||
           reason == EndReason::out_of_memory;
}

std::int64_t rank_of(Instant queued_at, std::uint8_t level, Duration age_step) {
    return queued_at.time_since_epoch().count() - level * age_step.count();
}

}  // namespace

std::string show(Duration duration) {
    if (duration == Duration::max()) return "none";
    return fmt::format("{}.{:09}s", duration / 1s, (duration % 1s).count());
}

Ledger::Ledger(const Settings& given) : settings(given) {
    std::size_t count = 0;
    for (const PoolSettings& pool : settings.pools) count += pool.lanes;
    lanes.resize(count);
    std::size_t first = 0;
    for (std::size_t i = 0; i < settings.pools.size(); ++i) {
        KnownPool& pool = pools.emplace_back();
        pool.id = PoolId{i};
        pool.settings = &settings.pools[i];
        pool.lanes = std::span(lanes).subspan(first, pool.settings->lanes);
        for (KnownLane& lane : pool.lanes) {
            lane.id = LaneId{first++};
            lane.pool = pool.id;
        }
    }
}

KnownJob* Ledger::find(JobId id) { return find_in(jobs, id); }
KnownAttempt* Ledger::find(AttemptId id) { return find_in(attempts, id); }
KnownWorker* Ledger::find(WorkerId id) { return find_in(workers, id); }
KnownLane* Ledger::find(LaneId id) { return id.value < lanes.size() ? &lanes[id.value] : nullptr; }
KnownPool* Ledger::find(PoolId id) { return id.value < pools.size() ? &pools[id.value] : nullptr; }

KnownJob& Ledger::admit(const JobArrived& arrived, JobId id) {
    KnownJob& job = jobs[id];
    job.id = id;
    job.pool = arrived.pool;
    job.wanted = arrived.lane_wanted;
    job.client = arrived.client;
    job.priority = arrived.priority;
    job.level = std::min(arrived.priority.level, arrived.limits.priority_max.level);
    job.is_aside = arrived.is_aside;
    job.arrived = now;
    job.deadline = later(now, arrived.timeout);
    jobs_due = std::min(jobs_due, job.deadline);
    KnownClient& client = clients[job.client];
    ++client.live;
    client.limits = arrived.limits;
    count_arriving(job, 1);
    grow_or_wait(job, std::min(arrived.declared, announced_max), false);
    return job;
}

const KnownWorker* Ledger::current_of(const KnownLane& lane) const {
    const auto current =
        std::ranges::find(lane.workers, seen_lane(lane.id).current, &KnownWorker::id);
    return current == lane.workers.end() ? nullptr : *current;
}

std::uint32_t Ledger::slots_of(const KnownLane& lane) const {
    const KnownWorker* worker = current_of(lane);
    return worker != nullptr ? worker->slots : pools[lane.pool.value].settings->slots;
}

/// Returns the slots of the current worker that are free. Slots that a leaving worker still uses
/// count as taken; these may be more than the current worker has.
std::uint32_t Ledger::free_slots(const KnownLane& lane) const {
    const std::uint32_t slots = slots_of(lane);
    return lane.batches.size() < slots ? slots - static_cast<std::uint32_t>(lane.batches.size())
                                       : 0;
}

std::uint64_t Ledger::lone_rides_max(const KnownPool& pool) const {
    const auto on = std::ranges::count_if(pool.lanes, [&](const KnownLane& lane) {
        return !is_off_lo(lane) &&
               !(lane.is_taken_out() && lane_before(lane.id).state == LaneState::draining);
    });
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(on) / 2);
}

std::uint64_t Ledger::lone_rides_allowed(const KnownPool& pool) const {
    const auto on =
        std::ranges::count_if(pool.lanes, [&](const KnownLane& lane) { return !is_off_hi(lane); });
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(on) / 2);
}

void Ledger::move(KnownJob& job, PoolId to) {
    count_arriving(job, -1);
    job.pool = to;
    count_arriving(job, 1);
}

void Ledger::grow(KnownJob& job, Bytes total) {
    const std::uint64_t more = std::max(total.count, job.bytes) - job.bytes;
    job.bytes += more;
    bytes += more;
    clients[job.client].bytes += more;
}

void Ledger::enqueue(KnownJob& job, Entry entry) {
    KnownPool& pool = pools[job.pool.value];
    if (job.state == JobState::arriving) {
        count_arriving(job, -1);
        ++line_of(job).live;
    } else {
        --pool.running;
    }
    job.state = JobState::queued;
    job.ride = nullptr;
    job.queued_at = now;
    jobs_due = std::min(jobs_due, later(now, pool.settings->queue_wait_max));
    job.key = {.entry = entry,
               .rank = entry == Entry::fresh
                           ? rank_of(now, job.priority.level, pool.settings->age_step)
                           : static_cast<std::int64_t>(turn),
               .order = ++queueings,
               .priority = job.priority.level,
               .job = job.id};
    ++pool.queued;
    pool.waits.push_back(job.key);
    KnownLane* wanted = find(job.wanted);
    if (wanted != nullptr) ++line_of(job).pinned, ++wanted->queued_for_lane;
    if (job.is_alone) pool.lone_change = turn;
    ++line_of(job).queued;
    ++clients[job.client].queued;
    if (!job.is_alone && wanted == nullptr && entry == Entry::fresh) return enter_line(job);
    job.queue = job.is_alone ? &pool.alone : wanted != nullptr ? &wanted->queue : &pool.retries;
    job.queue->insert(job.key);
}

void Ledger::leave_queue(KnownJob& job) {
    KnownPool& pool = pools[job.pool.value];
    --pool.queued;
    if (KnownLane* wanted = find(job.wanted)) --line_of(job).pinned, --wanted->queued_for_lane;
    --line_of(job).queued;
    --clients[job.client].queued;
    if (job.queue == &line_of(job).jobs) leave_line(job);
    job.queue->erase(job.key);
    job.queue = nullptr;
}

void Ledger::ride(KnownJob& job, KnownWorker& worker, const SendJob& send) {
    KnownPool& pool = pool_of(worker);
    KnownLane& lane = lane_of(worker);
    if (job.state == JobState::queued) {
        take_turn_of(job, lane);
        leave_queue(job);
    } else if (job.state == JobState::arriving) {
        count_arriving(job, -1);
    }
    if (job.state != JobState::running)
        ++pool.running, pool.running_asides += job.is_aside ? 1U : 0U;
    job.state = JobState::running;
    job.last = send.attempt;
    job.last_lane = lane.id;
    ++job.attempts;

    KnownAttempt& attempt = attempts[send.attempt];
    attempt.id = send.attempt;
    attempt.job_id = job.id;
    attempt.job = &job;
    attempt.worker = &worker;
    attempt.client = job.client;
    attempt.is_pinned = !job.wanted.is_none();
    attempt.is_aside = job.is_aside;
    attempt.sent = attempt.moved = now;
    attempt.was_usual_known = pool.answered_lo >= pool.settings->slow_samples_min;
    attempt.is_alone = job.is_alone;
    job.may_have_reached_worker = true;
    job.ride = &attempt;
    worker.aboard.push_back(&attempt);
    lower_to(worker.probe.clean, job.is_aside ? Sure::maybe : Sure::no);
    worker.probe.does_refusal_count = false;
    lane.last_job_hi = now;
    if (attempt.is_alone) {
        lane.lone_ride = &attempt;
        ++pool.lone_rides;
        pool.lone_change = turn;
    }
    if (job.is_aside) {
        ++lane.asides;
        return;
    }
    ++lane.riders;
    worker.boarded_turn = turn;
    lane.last_job_lo = now;
    if (send.batch_index == 0 || lane.batches.empty())
        lane.batches.push_back({.number = ++batches_made, .left = 0});
    attempt.batch = lane.batches.back().number;
    ++lane.batches.back().left;
}

void Ledger::leave_worker(KnownAttempt& attempt) {
    KnownWorker& worker = *attempt.worker;
    KnownLane& lane = lane_of(worker);
    std::erase(worker.aboard, &attempt);
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool may_be_overdue =
        now - attempt.moved >= rules.job_timeout + rules.cancel_grace ||
        (attempt.expired_lo != never && attempt.expired_lo + rules.cancel_grace <= now);
    if (may_be_overdue && worker.has_proof) raise_to(worker.proof.needed, Sure::maybe);
    if (worker.aboard.empty()) worker.idle_since = now;
    attempt.stage = AttemptStage::over;
    ended_now.push_back(&attempt);
    if (attempt.job != nullptr) attempt.job->ride = nullptr;
    lane.last_job_hi = now;
    if (lane.lone_ride == &attempt) lane.lone_ride = nullptr;
    if (attempt.is_alone) --pool_of(worker).lone_rides, pool_of(worker).lone_change = turn;
    if (attempt.is_aside) {
        --lane.asides;
        return;
    }
    --lane.riders;
    const auto batch = std::ranges::find(lane.batches, attempt.batch, &Batch::number);
    if (batch != lane.batches.end() && --batch->left == 0) lane.batches.erase(batch);
}

void Ledger::end(KnownJob& job, EndReason reason) {
    KnownPool& pool = pools[job.pool.value];
    if (job.is_alone) pool.lone_change = pool.lone_end = turn;
    leave_case(job, is_acquitted_by(reason));
    switch (job.state) {
        case JobState::arriving: count_arriving(job, -1); break;
        case JobState::queued: leave_queue(job); break;
        case JobState::running:
            --pool.running;
            if (job.is_aside) --pool.running_asides;
            if (job.ride != nullptr) {
                lane_of(*job.ride->worker).last_job_hi = now;
                job.ride->job = nullptr;
                abandoned_now.push_back(job.ride);
            }
            break;
    }
    KnownLine& line = line_of(job);
    if (job.state != JobState::arriving && !job.is_aside && --line.live == 0) line.gone_at = now;
    bytes -= job.bytes;
    KnownClient& client = clients[job.client];
    client.bytes -= job.bytes;
    --client.live;
    if (outcome_of(reason) == Outcome::refused) ++client.refused;
    release_line(job);
    const JobId id = job.id;
    remember(recent_jobs, id.value);
    jobs.erase(id);
}

void Ledger::expect_end(KnownJob& job, EndReason reason) {
    job.fate.end = JobFate::End::must_come;
    job.fate.reason = reason;
    touched_jobs.push_back(job.id);
}

void Ledger::begin_turn(const Event& what, Instant when, std::span<const Action> actions) {
    event = &what;
    now = when;
    ++turn;
    is_time_event = std::holds_alternative<TimePassed>(what);
    is_late = !is_time_event && deadline <= when;
    if (const auto* asked = std::get_if<ReloadAsked>(&what))  // the reload may begin in this turn
        if (KnownPool* pool = find(asked->pool))
            pool->kinds.try_emplace(asked->generation, asked->kind);
    for (KnownPool& pool : pools) {
        const PoolView& then = pool_before(pool.id);
        const PoolView& seen_now = seen_pool(pool.id);
        if (seen_now.reloading != then.reloading && !seen_now.reloading.is_none())
            begin_reload(pool);
        if (seen_now.usual_run != then.usual_run) pool.usual_since = now;
        if (seen_now.good != then.good) forgive_clients();
    }
    for (const Action& action : actions) {
        const auto* kill = std::get_if<KillWorker>(&action);
        KnownWorker* worker = kill != nullptr ? find(kill->worker) : nullptr;
        if (worker == nullptr) continue;
        worker->kill_turn = turn;
    }
}

void Ledger::end_turn() {
    for (const JobId id : touched_jobs)
        if (KnownJob* job = find(id)) job->fate = {};
    for (KnownWorker* worker : touched_workers)
        worker->demand = WorkerDemand::none, worker->must_be_probed = false;
    touched_jobs.clear();
    touched_workers.clear();
    for (const KnownAttempt* attempt : ended_now) {
        const AttemptId id = attempt->id;
        remember(recent_attempts, id.value);
        attempts.erase(id);
    }
    ended_now.clear();
    abandoned_now.clear();
    hashed_now.clear();
    must_hash = {};
    cancelled_now.clear();
    apart_now.clear();
    forgiven_now.clear();
    growth.reset();
    open_batch = {};
    for (const KnownWorker* worker : gone_now) {
        const WorkerId id = worker->id;
        remember(recent_workers, id.value);
        workers.erase(id);
    }
    gone_now.clear();
    for (KnownLane& lane : lanes) {
        lane.must_start = lane.outage.must_fail = lane.outage.must_be_quarantined = false;
        // When the worker is replaced, the rules leave open whose outcomes count.
        const bool was_replaced = seen_lane(lane.id).current != lane_before(lane.id).current;
        if (was_replaced) lower_to(lane.latest_failed, Sure::maybe);
    }
    for (KnownPool& pool : pools) pool.majority = Majority::unclear;
    arrival = nullptr;
    event = nullptr;
}

void Ledger::complain(std::string_view invariant, std::string detail) {
    if (!violation)
        violation = Violation{.invariant = std::string(invariant), .detail = std::move(detail)};
}

}  // namespace turnpike::sim
