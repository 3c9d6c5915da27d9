#include "core/admission.h"

#include <algorithm>
#include <optional>

#include "core/placement.h"
#include "core/poison.h"
#include "core/share.h"
#include "core/state.h"

namespace turnpike::admission {

namespace {

/// Returns why this pool, or the wanted lane, can take no job at all, or nullopt if it can.
std::optional<EndReason> objection_of_lanes(const State& s, const Pool& pool, LaneId wanted) {
    if (!wanted.is_none() &&
        (wanted.value >= s.lanes.size() || s.lanes[wanted.value].pool != pool.id))
        return EndReason::lane_unknown;
    if (!can_ever_serve(s, pool, wanted)) return EndReason::no_lane;
    return std::nullopt;
}

bool has_reached_limits(const ClientState& client, const JobArrived& event) {
    const ClientLimits& limits = event.limits;
    return (limits.jobs_max > 0 && client.live >= limits.jobs_max) ||
           (limits.bytes_max > Bytes{} && client.bytes + event.declared > limits.bytes_max);
}

/// Returns the number of clients that share what there is: those with live jobs, and this one.
std::uint64_t sharing_with(const State& s, const ClientState& client) {
    return std::uint64_t{s.clients_active} + (client.live == 0 ? 1 : 0);
}

bool has_place_in_queue(const State& s, const Pool& pool, const Line& line) {
    const Common places{.whole = pool.settings.queue_jobs_max,
                        .taken = pool.arriving + pool.queued};
    if (places.is_open_to_all(1)) return true;
    return places.has_room_in_share(1, line.arriving + line.queued, sharing_with(s, *line.client));
}

bool may_upload(const State& s, const ClientState& client) {
    const Common uploads{.whole = s.settings.arriving_max, .taken = s.arriving};
    if (uploads.is_open_to_all(1)) return true;
    return uploads.has_room_in_share(1, client.uploads, sharing_with(s, client));
}

/// True if the client may hold so many more bytes for a job that holds `of_this` already. A single body
/// may be larger than a share.
bool has_room_for(const State& s, const ClientState& client, Bytes more, Bytes of_this = {}) {
    const Common held{.whole = s.settings.bytes_max.count, .taken = s.bytes_held.count};
    if (held.is_open_to_all(more.count)) return true;
    const Bytes of_others = client.bytes - of_this;
    return held.has_room_in_share(more.count, of_others.count, sharing_with(s, client));
}

/// True if a body of this length may come. Within its share a client may announce what fits only when
/// uploads of others end: they make room as the body comes.
bool may_announce(const State& s, const ClientState& client, Bytes declared) {
    if (has_room_for(s, client, declared)) return true;
    const Common held{.whole = s.settings.bytes_max.count, .taken = s.bytes_held.count};
    const Common complete{.whole = held.whole, .taken = (s.bytes_held - s.bytes_arriving).count};
    const Bytes with_it = client.bytes + declared;
    return with_it.count <= held.share(sharing_with(s, client)) &&
           complete.has_room_for(declared.count);
}

bool has_place_at_lane(const State& s, LaneId wanted, const Line& line) {
    if (wanted.is_none()) return true;
    const Lane& lane = s.lanes[wanted.value];
    const Common places{.whole = wanting_lane_max, .taken = lane.arriving_for + lane.queued_for};
    if (places.is_open_to_all(1)) return true;
    return places.has_room_in_share(1, line.pinned, sharing_with(s, *line.client));
}

std::optional<EndReason> objection(const State& s, const Pool& pool, const Line& line,
                                   const JobArrived& event) {
    if (s.shutdown.is_asked()) return EndReason::shutting_down;
    if (const auto reason = objection_of_lanes(s, pool, event.lane_wanted)) return reason;
    const ClientState& client = *line.client;
    if (has_reached_limits(client, event)) return EndReason::client_limit;
    if (!event.is_aside && !has_place_at_lane(s, event.lane_wanted, line))
        return EndReason::lane_queue_full;
    if (!event.is_aside && !has_place_in_queue(s, pool, line)) return EndReason::queue_full;
    if (!may_upload(s, client)) return EndReason::arrivals_full;
    if (!may_announce(s, client, event.declared)) return EndReason::bytes_full;
    return std::nullopt;
}

/// Returns the line of the client in this pool. The client is known from now on.
Line& line_of(State& s, ClientId id, const Pool& pool) {
    const bool is_known = id.value < s.clients.size() && s.clients[id.value]->is_known;
    ClientState& client = is_known ? *s.clients[id.value] : client::add(s, id);
    Line* line = client.line_in(pool.id);
    return line != nullptr ? *line : client::add_line(client, pool);
}

void count_arriving(State& s, const Job& job) {
    ++s.arriving;
    s.bytes_arriving = s.bytes_arriving + job.bytes;
    ++job.line->client->uploads;
    if (job.is_aside) return;
    ++s.pool_of(job).arriving;
    ++job.line->arriving;
    if (!job.wanted.is_none()) ++job.line->pinned, ++s.lanes[job.wanted.value].arriving_for;
}

Job& admit(State& s, Line& line, const JobArrived& event) {
    Job& job = s.jobs.add();
    job.pool = event.pool;
    job.line = &line;
    job.wanted = event.lane_wanted;
    job.priority.level = std::min<std::uint8_t>(event.priority.level, Priority::levels - 1);
    job.turn_level = std::min(job.priority.level, event.limits.priority_max.level);
    job.is_aside = event.is_aside;
    job.arrived = job.since = s.now;
    job.deadline = later(s.now, std::max(event.timeout, Duration::zero()));
    job.timer = {.kind = TimerKind::job, .owner = job.id.value};
    // The timer goes off by the time that the job may wait, so that it need not be moved when the job is
    // queued and sent.
    s.timers.arm(job.timer,
                 std::min(job.deadline, later(s.now, s.pool_of(job).settings.queue_wait_max)));
    ClientState& client = *line.client;
    client.bytes_max = event.limits.bytes_max;
    if (client.live++ == 0) ++s.clients_active;
    count_arriving(s, job);
    return job;
}

/// Returns how many bytes of the job have come each second since it arrived.
std::uint64_t speed_of(const State& s, const Job& job) {
    constexpr std::uint64_t most = std::uint64_t{1} << 50;  // so that the product fits
    const auto age = static_cast<std::uint64_t>((s.now - job.arrived) / 1ms);
    return std::min(job.received.count, most) * 1000 / std::max<std::uint64_t>(age, 1);
}

/// Returns the slowest upload of the client that holds most bytes, of those that upload something.
/// `growing` is one of them. Visits every job: only for a gate that is full.
Job& find_upload_to_end(State& s, Job& growing) {
    Job* found = &growing;
    s.jobs.each([&](Job& job) {
        if (job.state != JobState::arriving || job.is_hashing) return;
        const Bytes held = job.line->client->bytes;
        const Bytes most = found->line->client->bytes;
        if (held > most || (held == most && speed_of(s, job) < speed_of(s, *found))) found = &job;
    });
    return *found;
}

/// Makes room for so many more bytes of this job, at the cost of other uploads if need be. Returns
/// false if there is no room; then the job has ended.
bool make_room(State& s, Job& job, Bytes more) {
    const ClientState& client = *job.line->client;
    if (client.bytes_max > Bytes{} && client.bytes + more > client.bytes_max) {
        job::end(s, job, EndReason::client_limit);
        return false;
    }
    const bool is_hopeless = job.bytes + more > s.settings.bytes_max;
    if (is_hopeless) job::end(s, job, EndReason::bytes_full);
    while (!is_hopeless && !has_room_for(s, client, more, job.bytes)) {
        Job& slowest = find_upload_to_end(s, job);
        const bool is_this = &slowest == &job;
        job::end(s, slowest, is_this ? EndReason::bytes_full : EndReason::crowded_out);
        if (is_this) return false;
    }
    return !is_hopeless;
}

/// Counts so many bytes for the job. Returns false if they do not fit; then the job has ended.
bool charge(State& s, Job& job, Bytes total) {
    const Bytes more = total - job.bytes;
    if (more == Bytes{}) return true;
    if (!make_room(s, job, more)) return false;
    s.bytes_held = s.bytes_held + more;
    s.bytes_arriving = s.bytes_arriving + more;
    ClientState& client = *job.line->client;
    client.bytes = client.bytes + more;
    job.bytes = job.bytes + more;
    return true;
}

bool take_size(State& s, Job& job, Bytes total) {
    job.received = std::max(job.received, total);
    return charge(s, job, total);
}

/// Returns the job if its body is still on its way, or nullptr.
Job* find_arriving(State& s, JobId id) {
    Job* job = s.jobs.find(id);
    return job != nullptr && job->state == JobState::arriving && !job->is_hashing ? job : nullptr;
}

void queue_up(State& s, Job& job) {
    no_longer_arriving(s, job);
    job::enqueue(s, job);
}

/// Returns how soon a failed lane that the job may use tries again, or nullopt if none will.
std::optional<Duration> next_try(const State& s, const Pool& pool, LaneId wanted) {
    std::optional<Duration> soonest;
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) {
        const Lane& lane = s.lanes[pool.first_lane + i];
        if (!lane.has_failed() || (!wanted.is_none() && wanted != lane.id)) continue;
        const Duration wait = lane::next_try(lane, s.now);
        soonest = std::min(soonest.value_or(wait), wait);
    }
    return soonest;
}

}  // namespace

bool can_ever_serve(const State& s, const Pool& pool, LaneId wanted) {
    return wanted.is_none() ? pool.lanes_on > 0 : s.lanes[wanted.value].mode == LaneMode::on;
}

void arrived(State& s, const JobArrived& event) {
    Pool* pool = s.find_pool(event.pool);
    if (pool == nullptr) return s.act(RefuseJob{event.ticket, event.pool, EndReason::no_lane, {}});
    if (event.client.value >= clients_max) {
        ++pool->counts.refused;
        return s.act(RefuseJob{event.ticket, pool->id, EndReason::client_limit, {}});
    }
    Line& line = line_of(s, event.client, *pool);
    if (const auto reason = objection(s, *pool, line, event)) {
        ++pool->counts.refused;
        ++line.client->refused;
        s.act(RefuseJob{event.ticket, pool->id, *reason,
                        retry_after(s, line, *reason, event.lane_wanted)});
        return;
    }
    Job& job = admit(s, line, event);
    s.act(AdmitJob{event.ticket, job.id});
    charge(s, job, std::min(event.declared, announced_max));
}

void body_grew(State& s, const BodyGrew& event) {
    if (Job* job = find_arriving(s, event.job)) take_size(s, *job, event.total);
}

void body_failed(State& s, const BodyFailed& event) {
    if (Job* job = find_arriving(s, event.job)) job::end(s, *job, EndReason::body_failed);
}

void routed(State& s, const JobRouted& event) {
    Job* job = find_arriving(s, event.job);
    Pool* pool = s.find_pool(event.pool);
    if (job == nullptr || pool == nullptr || pool->id == job->pool) return;
    Line& line = line_of(s, job->line->client->id, *pool);
    auto reason = objection_of_lanes(s, *pool, job->wanted);
    if (!reason && !job->is_aside && !has_place_in_queue(s, *pool, line))
        reason = EndReason::queue_full;
    no_longer_arriving(s, *job);
    job->pool = pool->id;
    job->line = &line;
    count_arriving(s, *job);
    if (reason) job::end(s, *job, *reason);
}

void body_completed(State& s, const BodyCompleted& event) {
    Job* job = find_arriving(s, event.job);
    if (job == nullptr || !take_size(s, *job, event.total)) return;
    if (job->is_aside) return placement::send_aside(s, *job);
    if (!poison::may_equal_known(s, s.pool_of(*job), job->bytes)) return queue_up(s, *job);
    job->is_hashing = true;
    s.act(HashJob{job->id});
}

void hashed(State& s, const JobHashed& event) {
    for (Pool& pool : s.pools) poison::hashed(pool, event.job, event.digest);
    Job* job = s.jobs.find(event.job);
    if (job == nullptr || job->state != JobState::arriving || !job->is_hashing) return;
    job->is_hashing = false;
    job->was_compared = true;
    if (const Poison* known = poison::find(s, s.pool_of(*job), event.digest))
        return job::end(s, *job, EndReason::known_poison, known->first);
    queue_up(s, *job);
}

void no_longer_arriving(State& s, const Job& job) {
    --s.arriving;
    s.bytes_arriving = s.bytes_arriving - job.bytes;
    --job.line->client->uploads;
    if (job.is_aside) return;
    --s.pool_of(job).arriving;
    --job.line->arriving;
    if (!job.wanted.is_none()) --job.line->pinned, --s.lanes[job.wanted.value].arriving_for;
}

std::uint64_t jobs_ahead(const Pool& pool, const Line& line) {
    const std::uint64_t others = pool.clients_waiting - (line.queued > 0 ? 1 : 0);
    return std::min(pool.queued, line.queued + (line.queued + 1) * others);
}

std::uint64_t slots_serving(const State& s, const Pool& pool) {
    std::uint64_t all = 0;
    std::uint64_t serving = 0;
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) {
        const Lane& lane = s.lanes[pool.first_lane + i];
        all += lane::slots(s, lane);
        if (lane.current != nullptr && lane.current->is_serving()) serving += lane::slots(s, lane);
    }
    return serving > 0 ? serving : all;
}

Duration expected_wait(const State& s, const Pool& pool, std::uint64_t jobs_ahead) {
    if (pool.open_lanes != 0) return Duration::zero();
    const auto jobs = static_cast<std::int64_t>(jobs_ahead + 1);
    const Duration slot_time = std::min<Duration>(pool.pace.slot_time(), 1h);
    return slot_time * jobs / static_cast<std::int64_t>(slots_serving(s, pool));
}

Duration wait_before_retry(const State& s, const Line& line, EndReason reason, LaneId wanted) {
    const Pool& pool = s.pool_of(line);
    if (reason == EndReason::no_lane)
        if (const auto wait = next_try(s, pool, wanted))
            return std::max(*wait, s.settings.retry_after_min);
    return std::clamp(expected_wait(s, pool, jobs_ahead(pool, line)), s.settings.retry_after_min,
                      s.settings.retry_after_max);
}

}  // namespace turnpike::admission
