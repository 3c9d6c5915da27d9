// Arrivals and answers: which jobs are admitted, why a job ends, and that it ends in time.
#include <algorithm>
#include <array>
#include <variant>

#include "sim/judge.h"
#include "sim/shares.h"

namespace turnpike::sim {

namespace {

struct Refusal {
    EndReason reason;
    Sure is_true = Sure::no;
};

Sure sure_if(bool certain, bool possible) {
    return certain ? Sure::yes : possible ? Sure::maybe : Sure::no;
}

template <class Predicate>
bool all_lanes(Ledger& ledger, PoolId pool, LaneId wanted, Predicate predicate) {
    if (const KnownLane* lane = ledger.find(wanted)) return predicate(*lane);
    return std::ranges::all_of(ledger.pools[pool.value].lanes, predicate);
}

bool none_can_serve_lo(Ledger& ledger, PoolId pool, LaneId wanted) {
    return all_lanes(ledger, pool, wanted,
                     [&](const KnownLane& lane) { return ledger.is_off_lo(lane); });
}
bool none_can_serve_hi(Ledger& ledger, PoolId pool, LaneId wanted) {
    return all_lanes(ledger, pool, wanted,
                     [&](const KnownLane& lane) { return ledger.is_off_hi(lane); });
}

Claim claim_of_place(const Ledger& ledger, const KnownPool& pool, ClientId client) {
    const auto line = pool.lines.find(client);
    const bool is_new = line == pool.lines.end();
    return {.whole = pool.settings->queue_jobs_max,
            .taken = pool.arriving - pool.arriving_asides + pool.queued,
            .own = is_new ? 0 : line->second.arriving + line->second.queued,
            .clients = ledger.clients_sharing(client)};
}

Claim claim_of_lane(const Ledger& ledger, const KnownLane& lane, ClientId client) {
    const KnownPool& pool = ledger.pools[lane.pool.value];
    const auto line = pool.lines.find(client);
    return {.whole = wanting_lane_max,
            .taken = lane.arriving_for_lane + lane.queued_for_lane,
            .own = line == pool.lines.end() ? 0 : line->second.pinned,
            .clients = ledger.clients_sharing(client)};
}

Claim claim_of_upload(const Ledger& ledger, ClientId client) {
    return {.whole = ledger.settings.arriving_max,
            .taken = ledger.arriving,
            .own = ledger.clients.at(client).uploads,
            .clients = ledger.clients_sharing(client)};
}

Claim claim_of_bytes(const Ledger& ledger, ClientId client, Bytes amount) {
    return {.whole = ledger.settings.bytes_max.count,
            .taken = ledger.bytes,
            .own = ledger.clients.at(client).bytes,
            .clients = ledger.clients_sharing(client),
            .amount = amount.count};
}

/// True if the body fits as it is, or is its client's due and fits when uploads of others end.
bool may_announce(const Ledger& ledger, ClientId client, Bytes declared) {
    Claim claim = claim_of_bytes(ledger, client, declared);
    if (has_room(claim)) return true;
    std::uint64_t complete = 0;
    for (const auto& [id, job] : ledger.jobs)
        if (job.state != JobState::arriving) complete += job.bytes;
    const bool is_due = (claim.own + declared.count - 1) * (claim.clients + 1) < claim.whole;
    return is_due && complete + declared.count <= claim.whole;
}

bool has_reached_limits(const KnownClient& client, const JobArrived& arrived) {
    const ClientLimits& limits = arrived.limits;
    return (limits.jobs_max > 0 && client.live >= limits.jobs_max) ||
           (limits.bytes_max.count > 0 &&
            client.bytes + arrived.declared.count > limits.bytes_max.count);
}

/// Returns every reason to refuse an arrival, in the order in which the engine must check them.
std::array<Refusal, 8> refusals_of(Ledger& ledger, const JobArrived& arrived) {
    const KnownPool& pool = ledger.pools[arrived.pool.value];
    const KnownLane* wanted = ledger.find(arrived.lane_wanted);
    const bool unknown =
        !arrived.lane_wanted.is_none() && (wanted == nullptr || wanted->pool != pool.id);
    const bool is_lane_full = wanted != nullptr && !arrived.is_aside &&
                              !has_room(claim_of_lane(ledger, *wanted, arrived.client));
    const bool is_over_limit = arrived.client.value >= clients_max ||
                               has_reached_limits(ledger.clients[arrived.client], arrived);
    const bool is_queue_full =
        !arrived.is_aside && !has_room(claim_of_place(ledger, pool, arrived.client));
    const bool are_uploads_full = !has_room(claim_of_upload(ledger, arrived.client));
    const bool are_bytes_full = !may_announce(ledger, arrived.client, arrived.declared);
    return {{{EndReason::shutting_down, sure_if(ledger.is_shutting_down, ledger.is_shutting_down)},
             {EndReason::lane_unknown, sure_if(unknown, unknown)},
             {EndReason::no_lane,
              sure_if(!unknown && none_can_serve_lo(ledger, pool.id, arrived.lane_wanted),
                      !unknown && none_can_serve_hi(ledger, pool.id, arrived.lane_wanted))},
             {EndReason::client_limit, sure_if(is_over_limit, is_over_limit)},
             {EndReason::lane_queue_full, sure_if(is_lane_full, is_lane_full)},
             {EndReason::queue_full, sure_if(is_queue_full, is_queue_full)},
             {EndReason::arrivals_full, sure_if(are_uploads_full, are_uploads_full)},
             {EndReason::bytes_full, sure_if(are_bytes_full, are_bytes_full)}}};
}

/// True if the reason is that others have too much, although everybody may still take some.
bool is_refused_below_line(Ledger& ledger, const JobArrived& arrived, EndReason reason) {
    const KnownPool& pool = ledger.pools[arrived.pool.value];
    const auto is_open = [](const Claim& claim) {
        return claim.taken > claim.own && is_below_line(claim) && has_room(claim);
    };
    if (reason == EndReason::queue_full)
        return is_open(claim_of_place(ledger, pool, arrived.client));
    if (const KnownLane* wanted = ledger.find(arrived.lane_wanted);
        wanted != nullptr && reason == EndReason::lane_queue_full)
        return is_open(claim_of_lane(ledger, *wanted, arrived.client));
    if (reason == EndReason::arrivals_full) return is_open(claim_of_upload(ledger, arrived.client));
    if (reason == EndReason::bytes_full)
        return is_open(claim_of_bytes(ledger, arrived.client, arrived.declared));
    return false;
}

std::string_view invariant_of_bound(EndReason reason) {
    if (reason == EndReason::shutting_down) return invariant::shutdown;
    const bool is_bound = reason == EndReason::queue_full || reason == EndReason::arrivals_full ||
                          reason == EndReason::bytes_full || reason == EndReason::client_limit ||
                          reason == EndReason::lane_queue_full;
    return is_bound ? invariant::bounds : invariant::refusal;
}

/// Returns how soon a failed lane that the job may use tries again, or nullopt if none will.
std::optional<Duration> next_try(const Ledger& ledger, PoolId pool, LaneId wanted) {
    std::optional<Duration> soonest;
    for (const KnownLane& lane : ledger.pools[pool.value].lanes) {
        const LaneView& seen = ledger.seen_lane(lane.id);
        if (seen.state != LaneState::failed || (!wanted.is_none() && wanted != lane.id)) continue;
        soonest = std::min(soonest.value_or(seen.next_try), seen.next_try);
    }
    return soonest;
}

/// Says whether the advice is right: when a failed lane tries again, if only that can help.
bool is_right_advice(Ledger& ledger, PoolId pool, LaneId wanted, EndReason reason,
                     Duration advice) {
    const Duration least = ledger.settings.retry_after_min;
    if (reason == EndReason::no_lane && !ledger.is_late && !ledger.is_shutting_down)
        if (const auto wait = next_try(ledger, pool, wanted);
            wait && none_can_serve_lo(ledger, pool, wanted))
            return advice == std::max(*wait, least);
    const Duration most =
        std::max(ledger.settings.retry_after_max, ledger.pools[pool.value].settings->revive_every);
    return advice == Duration::zero() || (advice >= least && advice <= most);
}

/// Returns how long a job of this client that arrives now waits in the pool.
Duration expected_wait(const Ledger& ledger, const KnownPool& pool, ClientId client) {
    const PoolView& seen = ledger.seen_pool(pool.id);
    if (seen.expected_wait == Duration::zero()) return Duration::zero();
    std::uint64_t own = 0;
    std::uint64_t others = 0;
    for (const auto& [id, line] : pool.lines) {
        if (id == client) own = line.queued;
        others += id != client && line.queued > 0 ? 1 : 0;
    }
    const std::uint64_t ahead = std::min(pool.queued, own + (own + 1) * others);
    return std::min<Duration>(seen.slot_time, 1h) * static_cast<std::int64_t>(ahead + 1) /
           static_cast<std::int64_t>(seen.slots_serving);
}

/// Says whether a client that is refused for a limit is told the expected wait of its next job.
bool is_expected_wait(const Ledger& ledger, const RefuseJob& refuse) {
    const bool is_at_limit =
        refuse.reason == EndReason::queue_full || refuse.reason == EndReason::arrivals_full ||
        refuse.reason == EndReason::bytes_full || refuse.reason == EndReason::client_limit ||
        refuse.reason == EndReason::lane_queue_full;
    const ClientId client = ledger.arrival->client;
    if (!is_at_limit || ledger.is_late || client.value >= clients_max) return true;
    const KnownPool& pool = ledger.pools[refuse.pool.value];
    return refuse.retry_after == std::clamp(expected_wait(ledger, pool, client),
                                            ledger.settings.retry_after_min,
                                            ledger.settings.retry_after_max);
}

bool has_room_for_aside(Ledger& ledger, const KnownJob& job) {
    return !all_lanes(ledger, job.pool, job.wanted, [&](const KnownLane& lane) {
        const KnownWorker* worker = ledger.serving_worker(lane);
        return worker == nullptr || ledger.seen_lane(lane.id).is_reserved ||
               ledger.lane_before(lane.id).is_reserved || lane.lone_ride != nullptr ||
               lane.asides >= ledger.pools[job.pool.value].settings->aside_max;
    });
}

bool is_event_of_body(const Ledger& ledger, JobId job) {
    if (const auto* grew = std::get_if<BodyGrew>(ledger.event)) return grew->job == job;
    const auto* completed = std::get_if<BodyCompleted>(ledger.event);
    return completed != nullptr && completed->job == job;
}

/// True if the job was routed to its pool in this turn. Such a job may still be refused.
bool was_routed(const Ledger& ledger, const KnownJob& job) {
    const auto* routed = std::get_if<JobRouted>(ledger.event);
    return routed != nullptr && routed->job == job.id && routed->pool == job.pool;
}

bool wants_foreign_lane(Ledger& ledger, const KnownJob& job) {
    const KnownLane* wanted = ledger.find(job.wanted);
    return was_routed(ledger, job) && !job.wanted.is_none() &&
           (wanted == nullptr || wanted->pool != job.pool);
}

/// True if the job, which is counted there, has no place in the pool to which it was routed.
bool is_full_with(const Ledger& ledger, const KnownJob& job) {
    if (!was_routed(ledger, job) || job.is_aside) return false;
    Claim claim = claim_of_place(ledger, ledger.pools[job.pool.value], job.client);
    --claim.taken, --claim.own;
    return !has_room(claim);
}

/// Returns why `reason` is not true of this job. Empty if it is true.
std::string_view why_untrue(Ledger& ledger, const KnownJob& job, EndReason reason) {
    if (job.fate.allows(reason)) return {};
    const PoolSettings& rules = *ledger.pools[job.pool.value].settings;
    const bool is_worker_killed = job.ride != nullptr && job.ride->worker->kill_turn == ledger.turn;
    switch (reason) {
        case EndReason::answered:
        case EndReason::bad_input:
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory:
        case EndReason::shortage: return "its live attempt did not end so";
        case EndReason::client_left:
        case EndReason::client_too_slow:
        case EndReason::answers_full:
        case EndReason::answer_lost:
        case EndReason::body_failed:
        case EndReason::cancel_asked: return "no event says so";
        case EndReason::worker_died:
            return is_worker_killed && (job.is_aside || !rules.may_retry) ? ""
                                                                          : "it had to be retried";
        case EndReason::stream_broken:
            return is_worker_killed && job.ride->stage == AttemptStage::answering
                       ? ""
                       : "no answer broke off";
        case EndReason::poison: return "two workers did not die under it while it was alone aboard";
        case EndReason::known_poison: return "it does not equal a known poison";
        case EndReason::deadline_passed:
            return job.deadline <= ledger.now ? "" : "its deadline has not passed";
        case EndReason::ran_too_long:
            if (job.ride == nullptr) return "it does not run";
            return ledger.now - job.ride->moved >= rules.job_timeout ? ""
                                                                     : "job_timeout is not over";
        case EndReason::waited_too_long:
            if (job.state != JobState::queued) return "it does not wait";
            return ledger.now - job.queued_at >= rules.queue_wait_max
                       ? ""
                       : "queue_wait_max is not over";
        case EndReason::no_lane:
            if (job.ride != nullptr) return "it runs";
            return none_can_serve_hi(ledger, job.pool, job.wanted) ? ""
                                                                   : "a lane may still serve it";
        case EndReason::bytes_full:
            if (!ledger.growth || ledger.growth->job != job.id || ledger.has_room_for_growth())
                return "there is room for its body";
            return ledger.may_be_crowded_out(job) ? "" : "another upload has to end first";
        case EndReason::crowded_out:
            if (!ledger.growth || ledger.growth->job == job.id || ledger.has_room_for_growth())
                return "there is room for every body";
            return ledger.may_be_crowded_out(job) ? "" : "another upload has to end first";
        case EndReason::client_limit: return "its client has not reached its limits";
        case EndReason::aside_full:
            if (!job.is_aside || !is_event_of_body(ledger, job.id))
                return "it is not an aside that is ready to be sent";
            return has_room_for_aside(ledger, job) ? "a lane has room for it" : "";
        case EndReason::shutting_down:
            return ledger.is_shutting_down && ledger.shutdown_by <= ledger.now
                       ? ""
                       : "the patience is not over";
        case EndReason::lane_unknown:
            return wants_foreign_lane(ledger, job) ? "" : "it was admitted";
        case EndReason::queue_full: return is_full_with(ledger, job) ? "" : "it was admitted";
        case EndReason::lane_queue_full:
        case EndReason::arrivals_full: return "it was admitted";
        case EndReason::rate_exceeded: return "the engine knows no rates";
    }
    return "there is no such reason";
}

std::string_view invariant_of_end(EndReason reason) {
    switch (reason) {
        case EndReason::worker_died:
        case EndReason::stream_broken:
        case EndReason::poison: return invariant::blame;
        case EndReason::known_poison: return invariant::known_poison;
        case EndReason::deadline_passed:
        case EndReason::ran_too_long:
        case EndReason::waited_too_long: return invariant::in_time;
        case EndReason::bytes_full:
        case EndReason::client_limit:
        case EndReason::crowded_out: return invariant::room;
        case EndReason::no_lane:
        case EndReason::aside_full: return invariant::refusal;
        case EndReason::shutting_down: return invariant::shutdown;
        case EndReason::answered:
        case EndReason::bad_input:
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory:
        case EndReason::shortage:
        case EndReason::client_left:
        case EndReason::client_too_slow:
        case EndReason::answers_full:
        case EndReason::answer_lost:
        case EndReason::cancel_asked:
        case EndReason::body_failed:
        case EndReason::rate_exceeded:
        case EndReason::lane_unknown:
        case EndReason::queue_full:
        case EndReason::lane_queue_full:
        case EndReason::arrivals_full: return invariant::one_answer;
    }
    return invariant::one_answer;
}

}  // namespace

void judge(Ledger& ledger, const AdmitJob& admit) {
    const JobArrived* arrived = ledger.arrival;
    if (arrived == nullptr || arrived->ticket != admit.ticket)
        return broken(ledger, invariant::one_answer, "ticket {} is admitted, but did not arrive",
                      show(admit.ticket));
    if (ledger.find(admit.job) != nullptr || is_among(ledger.recent_jobs, admit.job.value))
        return broken(ledger, invariant::one_answer, "job {} has an id that was used before",
                      show(admit.job));
    ledger.clients[arrived->client].is_known = true;
    for (const Refusal& due : refusals_of(ledger, *arrived))
        if (due.is_true == Sure::yes)
            return broken(ledger, invariant_of_bound(due.reason),
                          "job {} is admitted in spite of {}", show(admit.job),
                          name_of(due.reason));
    ledger.arrival = nullptr;
    ledger.admit(*arrived, admit.job);
}

void judge(Ledger& ledger, const RefuseJob& refuse) {
    const JobArrived* arrived = ledger.arrival;
    if (arrived == nullptr || arrived->ticket != refuse.ticket || arrived->pool != refuse.pool)
        return broken(ledger, invariant::one_answer, "ticket {} is refused, but did not arrive",
                      show(refuse.ticket));
    ledger.clients[arrived->client].is_known = arrived->client.value < clients_max;
    bool is_true = false;
    for (const Refusal& due : refusals_of(ledger, *arrived)) {
        is_true = due.reason == refuse.reason && due.is_true != Sure::no;
        if (is_true) break;
        if (due.is_true == Sure::yes)
            return broken(ledger, invariant::refusal,
                          "ticket {} is refused with {}, but {} comes first", show(refuse.ticket),
                          name_of(refuse.reason), name_of(due.reason));
    }
    if (!is_true)
        return broken(ledger,
                      is_refused_below_line(ledger, *arrived, refuse.reason) ? invariant::shares
                                                                             : invariant::refusal,
                      "ticket {} is refused with {}, which is not true", show(refuse.ticket),
                      name_of(refuse.reason));
    if (!is_right_advice(ledger, refuse.pool, arrived->lane_wanted, refuse.reason,
                         refuse.retry_after) ||
        !is_expected_wait(ledger, refuse))
        return broken(ledger, invariant::refusal, "retry_after {} is wrong",
                      show(refuse.retry_after));
    ++ledger.pools[refuse.pool.value].counts.refused;
    if (arrived->client.value < clients_max) ++ledger.clients[arrived->client].refused;
    ledger.arrival = nullptr;
}

void judge(Ledger& ledger, const HashJob& hash) {
    KnownJob* job = ledger.find(hash.job);
    const bool is_poison = hash.job == ledger.must_hash;
    if (job == nullptr || is_among(ledger.hashed_now, hash.job) ||
        (!is_poison && job->hash != HashStage::due))
        return broken(ledger, invariant::known_poison, "job {} is hashed for no reason",
                      show(hash.job));
    ledger.hashed_now.push_back(hash.job);
    if (!is_poison) job->hash = HashStage::asked;
}

void judge(Ledger& ledger, const EndJob& end) {
    KnownJob* job = ledger.find(end.job);
    if (job == nullptr)
        return broken(ledger, invariant::one_answer, "job {} ends with {}, but does not exist",
                      show(end.job), name_of(end.reason));
    const std::string_view objection = why_untrue(ledger, *job, end.reason);
    if (!objection.empty())
        return broken(ledger, invariant_of_end(end.reason), "job {} ends with {}, but {}",
                      show(end.job), name_of(end.reason), objection);
    if (end.attempts != job->attempts || end.attempt != job->last || end.lane != job->last_lane)
        return broken(
            ledger, invariant::one_owner,
            "job {} ends with attempt {} ({} in all, lane {}), but its last was {} ({}, lane {})",
            show(end.job), show(end.attempt), end.attempts, show(end.lane), show(job->last),
            job->attempts, show(job->last_lane));
    if (!is_right_advice(ledger, job->pool, job->wanted, end.reason, end.retry_after))
        return broken(ledger, invariant::refusal, "retry_after {} is wrong", show(end.retry_after));
    if (end.first != (end.reason == EndReason::known_poison ? job->equal_to : JobId{}))
        return broken(ledger, invariant::known_poison, "job {} ends with {} because of job {}",
                      show(end.job), name_of(end.reason), show(end.first));
    ++ledger.pools[job->pool.value].counts.of(outcome_of(end.reason));
    if (KnownLane* lane = ledger.find(end.lane)) {
        if (outcome_of(end.reason) == Outcome::finished) ++lane->finished;
        const bool is_lane_at_fault = end.reason != EndReason::no_lane &&
                                      end.reason != EndReason::shutting_down &&
                                      end.reason != EndReason::answer_lost;
        if (outcome_of(end.reason) == Outcome::failed && is_lane_at_fault) ++lane->failed;
    }
    if (end.reason == EndReason::poison && job->is_sure_poison) ledger.take_poison_of(job->client);
    ledger.end(*job, end.reason);
}

/// Every decision about a job that was due in this turn must have been made.
void check_fates(Ledger& ledger) {
    ledger.settle_growth();
    ledger.settle_suspects();
    if (!ledger.apart_now.empty())
        broken(ledger, invariant::suspicion, "job {} is set apart, but it is not its turn",
               show(ledger.apart_now.front().job));
    if (ledger.arrival != nullptr)
        return broken(ledger, invariant::one_answer, "ticket {} is neither admitted nor refused",
                      show(ledger.arrival->ticket));
    if (!ledger.must_hash.is_none() && !is_among(ledger.hashed_now, ledger.must_hash))
        return broken(ledger, invariant::known_poison, "the poison job {} is not remembered",
                      show(ledger.must_hash));
    for (const JobId id : ledger.touched_jobs) {
        const KnownJob* job = ledger.find(id);
        if (job == nullptr) continue;
        if (job->hash == HashStage::due)
            return broken(ledger, invariant::known_poison,
                          "job {} may equal a known poison, but is not compared with it", show(id));
        if (job->fate.must_end())
            return broken(ledger, invariant_of_end(job->fate.reason),
                          "job {} had to end with {}, but still lives", show(id),
                          name_of(job->fate.reason));
        if (is_full_with(ledger, *job) || wants_foreign_lane(ledger, *job))
            return broken(ledger, invariant::bounds, "job {} was routed where it may not go",
                          show(id));
        if (job->is_aside && job->state == JobState::arriving &&
            std::holds_alternative<BodyCompleted>(*ledger.event))
            return broken(ledger, invariant::one_answer,
                          "aside {} is complete, but neither sent nor ended", show(id));
    }
}

void check_job_times(Ledger& ledger) {
    if (!ledger.is_time_event || ledger.now < ledger.jobs_due) return;
    ledger.jobs_due = never;
    for (const auto& [id, job] : ledger.jobs) {
        Instant due = job.deadline;
        if (job.state == JobState::queued)
            due = std::min(
                due, later(job.queued_at, ledger.pools[job.pool.value].settings->queue_wait_max));
        if (due <= ledger.now)
            return broken(ledger, invariant::in_time, "job {} should have ended {} ago", show(id),
                          show(ledger.now - due));
        ledger.jobs_due = std::min(ledger.jobs_due, due);
    }
}

}  // namespace turnpike::sim
