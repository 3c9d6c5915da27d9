// Clients: whose turn it is, what each has, and for which body there is room.
#include <algorithm>

#include "sim/judge.h"
#include "sim/ledger.h"
#include "sim/shares.h"

namespace turnpike::sim {

std::uint64_t Ledger::clients_known() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(clients, [](const auto& it) { return it.second.is_known; }));
}

std::uint64_t Ledger::clients_sharing(ClientId with) const {
    std::uint64_t sharing = 0;
    for (const auto& [id, client] : clients) sharing += client.live > 0 || id == with ? 1 : 0;
    return sharing;
}

bool Ledger::is_suspected(ClientId id) const {
    const auto found = clients.find(id);
    return found != clients.end() && now < found->second.suspected_until;
}

bool Ledger::are_several_in(const KnownPool& pool) const {
    return std::ranges::count_if(pool.lines, [&](const auto& it) {
               const KnownLine& line = it.second;
               return line.live > 0 ||
                      (line.gone_at != Instant::min() && now - line.gone_at < users_keep);
           }) > 1;
}

Sure Ledger::must_ride_alone(const KnownJob& job) const {
    if (!are_several_in(pools[job.pool.value])) return Sure::no;
    if (is_suspected(job.client)) return Sure::yes;
    const auto was_until = forgiven_now.find(job.client);
    return was_until != forgiven_now.end() && now < was_until->second ? Sure::maybe : Sure::no;
}

void Ledger::take_poison_of(ClientId id) {
    KnownClient& client = clients[id];
    const Duration keep = settings.suspicion_keep;
    client.poisoned_at.push_back(now);
    std::erase_if(client.poisoned_at, [&](Instant at) { return now - at >= keep; });
    const bool are_many = client.poisoned_at.size() >= suspicious_poisons;
    if (are_many || now < client.suspected_until) client.suspected_until = later(now, keep);
}

void Ledger::forgive_clients() {
    for (auto& [id, client] : clients) {
        forgiven_now[id] = client.suspected_until;
        client.poisoned_at.clear();
        client.suspected_until = {};
    }
}

void Ledger::count_arriving(const KnownJob& job, int change) {
    const auto by = static_cast<std::uint64_t>(change);  // unsigned sums wrap around
    KnownPool& pool = pools[job.pool.value];
    arriving += by;
    pool.arriving += by;
    clients[job.client].uploads += by;
    if (job.is_aside) {
        pool.arriving_asides += by;
        return;
    }
    line_of(job).arriving += by;
    KnownLane* wanted = find(job.wanted);
    if (wanted == nullptr) return;
    line_of(job).pinned += by;
    wanted->arriving_for_lane += by;
}

// ── turns ────────────────────────────────────────────────────────────────────────────────────────

std::optional<NextTurn> Ledger::next_turn(const KnownPool& pool) const {
    std::optional<NextTurn> best;
    for (std::size_t level = 0; level < Priority::levels; ++level) {
        const KnownTurn* front = nullptr;
        ClientId whose;
        for (const auto& [id, line] : pool.lines) {
            const KnownTurn& place = line.turns[level];
            if (place.jobs == 0 || !line.lone_job.is_none()) continue;
            if (front != nullptr && front->number < place.number) continue;
            front = &place;
            whose = id;
        }
        if (front == nullptr) continue;
        const Instant rank = front->since - pool.settings->age_step * static_cast<int>(level);
        if (best && best->rank < rank) continue;
        best = {.client = whose, .rank = rank};
    }
    return best;
}

bool Ledger::has_next(const KnownPool& pool) {
    return !pool.retries.empty() || std::ranges::any_of(pool.lines, [](const auto& it) {
        return it.second.lone_job.is_none() && !it.second.jobs.empty();
    });
}

Instant Ledger::rank_in_turn(const KnownJob& job) {
    const Duration age_step = pools[job.pool.value].settings->age_step;
    const KnownLine& line = line_of(job);
    const Instant since = std::max(job.queued_at, line.latest_pinned_turn);
    const Instant held_back = std::min(line.latest_turn, later(since, age_step));
    return std::max(since, held_back) - age_step * job.level;
}

std::optional<NextTurn> Ledger::next_turn_at(const KnownLane& lane) {
    std::optional<NextTurn> best;
    std::uint64_t best_order = 0;
    for (const QueueKey& key : lane.queue) {
        const KnownJob& job = *find(key.job);
        if (key.entry == Entry::retry || !line_of(job).lone_job.is_none()) continue;
        const Instant rank = rank_in_turn(job);
        if (best && std::pair(best->rank, best_order) < std::pair(rank, key.order)) continue;
        best = {.client = job.client, .rank = rank};
        best_order = key.order;
    }
    return best;
}

KnownJob* Ledger::next_pinned(const KnownLane& lane) {
    const std::optional<NextTurn> next = next_turn_at(lane);
    for (const QueueKey& key : lane.queue) {
        KnownJob* job = find(key.job);
        if (key.entry == Entry::retry || (next && job->client == next->client)) return job;
    }
    return nullptr;
}

void Ledger::enter_line(KnownJob& job) {
    KnownLine& line = line_of(job);
    KnownTurn& place = line.turns[job.level];
    if (place.jobs++ == 0) {
        place.number = ++turns_given;
        place.since = now;
        line.went_ahead.clear();
    }
    job.queue = &line.jobs;
    job.queue->insert(job.key);
}

void Ledger::leave_line(const KnownJob& job) {
    KnownLine& line = line_of(job);
    if (--line.turns[job.level].jobs == 0) line.went_ahead.clear();
}

void Ledger::count_turn_ahead_of_others(const KnownJob& job, const KnownLane& lane) {
    const auto highest = [](const KnownLine& line) {
        std::size_t level = Priority::levels;
        while (level > 0 && line.turns[level - 1].jobs == 0) --level;
        return level;  // 0 if it has no job
    };
    KnownPool& pool = pools[job.pool.value];
    std::size_t own = std::max<std::size_t>(highest(line_of(job)), job.level + 1U);
    for (const QueueKey& key : lane.queue)  // its turn may come by any of its jobs
        if (const KnownJob& other = *find(key.job); other.client == job.client)
            own = std::max<std::size_t>(own, other.level + 1U);
    for (auto& [id, other] : pool.lines) {
        if (id == job.client || !other.lone_job.is_none() || highest(other) < own) continue;
        // A job that has waited long at its lane goes although its client had turns elsewhere.
        if (!job.wanted.is_none()) continue;
        if (++other.went_ahead[job.client] > 1)
            broken(*this, invariant::turns, "client {} has two turns while client {} waits for one",
                   show(job.client), show(id));
    }
    line_of(job).went_ahead.clear();
}

void Ledger::take_turn_of(const KnownJob& job, const KnownLane& lane) {
    if (job.queue == &pools[job.pool.value].alone || job.key.entry == Entry::retry) return;
    count_turn_ahead_of_others(job, lane);
    KnownLine& line = line_of(job);
    line.latest_turn = now;
    if (!job.wanted.is_none()) line.latest_pinned_turn = now;
    for (KnownTurn& place : line.turns) place.number = ++turns_given, place.since = now;
    line.went_ahead.clear();
}

Objection Ledger::objection_to_order(const KnownJob& job, const KnownLane& lane) {
    const KnownPool& pool = pools[job.pool.value];
    const KnownJob* pinned = next_pinned(lane);
    for (const Queue* queue : {&pool.retries, &lane.queue})
        if (!queue->empty() && queue->begin()->entry == Entry::retry &&
            queue->begin()->is_ahead_of(job.key))
            return {invariant::order, "a retry comes first"};
    if (job.key.entry == Entry::retry) return {};
    if (!job.wanted.is_none() && pinned != &job)
        return {invariant::order, "another job that wants the lane comes first"};
    if (!line_of(job).lone_job.is_none())
        return {invariant::turns, "another job of its client rides alone"};
    const std::optional<NextTurn> next = next_turn(pool);
    const bool is_own = next && next->client == job.client;
    if (is_own && pool.lines.at(next->client).jobs.begin()->is_ahead_of(job.key))
        return {invariant::order, "another job of its client comes first"};
    if (!job.wanted.is_none())
        return next && !is_own && next_turn_at(lane)->rank >= next->rank
                   ? Objection{invariant::turns,
                               "it is the turn of a job that does not want the lane"}
                   : Objection{};
    if (!is_own) return {invariant::turns, "it is the turn of another client"};
    if (pinned == nullptr) return {};
    if (pinned->client == job.client)
        return pinned->key.is_ahead_of(job.key)
                   ? Objection{invariant::order, "another job of its client comes first"}
                   : Objection{};
    if (pinned->key.entry == Entry::fresh && next_turn_at(lane)->rank < next->rank)
        return {invariant::turns, "it is the turn of a job that wants the lane"};
    return {};
}

void Ledger::settle_suspects() {
    while (!apart_now.empty()) {
        KnownJob* job = find(apart_now.front().job);
        KnownLane& lane = *find(apart_now.front().lane);
        if (job == nullptr || !objection_to_order(*job, lane).is_none()) return;
        apart_now.erase(apart_now.begin());
        KnownPool& pool = pools[job->pool.value];
        take_turn_of(*job, lane);
        if (job->queue == &line_of(*job).jobs) leave_line(*job);
        line_of(*job).lone_job = job->id;
        job->queue->erase(job->key);
        job->is_alone = true;
        job->key.entry = Entry::retry;
        job->key.rank = static_cast<std::int64_t>(turn);
        job->queue = &pool.alone;
        job->queue->insert(job->key);
        pool.lone_change = turn;
    }
}

void Ledger::release_line(const KnownJob& job) {
    KnownLine& line = line_of(job);
    if (line.lone_job != job.id) return;
    line.lone_job = {};
    for (KnownTurn& it : line.turns)
        if (it.jobs > 0) it.number = ++turns_given, it.since = now;
    line.went_ahead.clear();
}

// ── room for bodies ──────────────────────────────────────────────────────────────────────────────

void Ledger::begin_growth(KnownJob& job, Bytes total, bool is_complete) {
    job.received = std::max(job.received, total.count);
    const KnownClient& client = clients[job.client];
    const std::uint64_t more = std::max(total.count, job.bytes) - job.bytes;
    const std::uint64_t own_max = client.limits.bytes_max.count;
    if (more > 0 && own_max > 0 && client.bytes + more > own_max)
        return expect_end(job, EndReason::client_limit);
    if (job.bytes + more > settings.bytes_max.count) return expect_end(job, EndReason::bytes_full);
    grow_or_wait(job, total, is_complete);
}

void Ledger::grow_or_wait(const KnownJob& job, Bytes total, bool is_complete) {
    touched_jobs.push_back(job.id);
    growth = {.job = job.id, .total = total.count, .is_complete = is_complete};
    if (has_room_for_growth()) settle_growth();
}

bool Ledger::has_room_for_growth() {
    const KnownJob& job = *find(growth->job);
    return has_room({.whole = settings.bytes_max.count,
                     .taken = bytes,
                     .own = clients[job.client].bytes - job.bytes,
                     .clients = clients_sharing(job.client),
                     .amount = std::max(growth->total, job.bytes) - job.bytes});
}

bool Ledger::may_be_crowded_out(const KnownJob& job) const {
    const auto held = [&](const KnownJob& it) { return clients.at(it.client).bytes; };
    const auto speed = [&](const KnownJob& it) {
        const auto age = static_cast<std::uint64_t>((now - it.arrived) / 1ms);
        return it.received * 1000 / std::max<std::uint64_t>(age, 1);
    };
    const auto uploads = [](const KnownJob& it) {
        return it.state == JobState::arriving && it.hash == HashStage::none;
    };
    return uploads(job) && std::ranges::none_of(jobs, [&](const auto& it) {
               const KnownJob& other = it.second;
               return uploads(other) && (held(other) > held(job) ||
                                         (held(other) == held(job) && speed(other) < speed(job)));
           });
}

void Ledger::settle_growth() {
    if (!growth) return;
    const PendingGrowth grown = *growth;
    KnownJob* job = find(grown.job);
    if (job == nullptr) return growth.reset();  // it ended for that
    if (!has_room_for_growth())
        broken(*this, invariant::bounds,
               "the body of job {} has grown, but there is no room for it", show(grown.job));
    growth.reset();
    grow(*job, Bytes{grown.total});
    if (grown.is_complete) complete_body(*job);
}

void Ledger::complete_body(KnownJob& job) {
    if (job.is_aside) return;
    if (!may_equal_poison(job)) return enqueue(job, Entry::fresh);
    job.hash = HashStage::due;
}

}  // namespace turnpike::sim
