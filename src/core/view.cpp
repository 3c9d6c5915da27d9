// Engine::view, view_clients and find: they copy the facts, for people and for the invariants.
#include "core/view.h"

#include <algorithm>

#include "base/check.h"
#include "core/admission.h"
#include "core/engine.h"
#include "core/state.h"

namespace turnpike {

namespace {

LaneView view_of(const State& s, const Lane& lane, Instant now) {
    const Pool& pool = s.pool_of(lane);
    const LaneStatus status = lane::status_of(s, lane);
    LaneView view;
    view.lane = lane.id;
    view.pool = lane.pool;
    view.state = status.state;
    view.reason = status.reason;
    view.next_try = lane::next_try(lane, now);
    for (const Worker* worker : {lane.current, lane.other}) {
        if (worker == nullptr) continue;
        (worker == lane.current ? view.current : view.other) = worker->id;
        view.aboard += worker->jobs_aboard();
    }
    if (lane.current != nullptr) view.generation = lane.current->generation;
    view.asides = lane::asides(lane);
    view.slots = lane::slots(s, lane);
    view.slots_free = lane::slots_free(s, lane);
    view.batch = lane.current != nullptr ? lane.current->batch : pool.settings.batch;
    view.can_take_jobs = ((pool.open_lanes >> lane.number_in_pool) & 1U) != 0;
    view.is_reserved = lane.is_reserved();
    view.finished = lane.finished;
    view.failed = lane.failed;
    view.restarts = lane.starts > 0 ? lane.starts - 1 : 0;
    view.queued_for_lane = lane.queued_for;
    return view;
}

Instant oldest_since(const State& s, const Pool& pool, Instant now) {
    Instant oldest = now;
    const auto consider = [&](const Job* job) {
        if (job != nullptr) oldest = std::min(oldest, job->since);
    };
    consider(pool.rounds.oldest());
    consider(pool.lone_riders.oldest());
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i)
        consider(s.lanes[pool.first_lane + i].queue.oldest());
    return oldest;
}

/// True if the workers of the pool have a proof. While no worker is loaded, the latest one counts.
bool has_proof(const State& s, const Pool& pool) {
    bool is_loaded = false;
    for (std::uint32_t i = 0; i < pool.settings.lanes; ++i) {
        const Worker* worker = s.lanes[pool.first_lane + i].current;
        if (worker == nullptr || !worker->is_loaded()) continue;
        if (worker->has_proof) return true;
        is_loaded = true;
    }
    return pool.has_proof() || (!is_loaded && pool.did_latest_have_example);
}

PoolView view_of(const State& s, const Pool& pool, Instant now) {
    return {.pool = pool.id,
            .arriving = pool.arriving,
            .queued = pool.queued,
            .running = pool.running,
            .oldest_wait = now - oldest_since(s, pool, now),
            .expected_wait = admission::expected_wait(s, pool, pool.queued),
            .clients_waiting = pool.clients_waiting,
            .slot_time = pool.pace.slot_time(),
            .slots_serving = admission::slots_serving(s, pool),
            .usual_run = pool.pace.usual(),
            .good = pool.good,
            .reloading = pool.reload.generation,
            .has_proof = has_proof(s, pool),
            .is_majority_missing = pool.is_majority_missing,
            .counts = pool.counts};
}

}  // namespace

void Engine::view(Instant now, View& out) const {
    const State& s = *state_;
    out.pools.clear();
    out.lanes.clear();
    for (const Pool& pool : s.pools) out.pools.push_back(view_of(s, pool, now));
    for (const Lane& lane : s.lanes) out.lanes.push_back(view_of(s, lane, now));
    out.bytes_held = s.bytes_held;
    out.jobs = s.jobs.size();
    out.attempts = s.attempts.size();
    out.workers = s.workers.size();
    out.is_shutting_down = s.shutdown.is_asked();
}

View Engine::view(Instant now) const {
    View out;
    view(now, out);
    return out;
}

/// Visits every client and every job.
void Engine::view_clients(Instant now, View& out) const {
    State& s = *state_;
    out.clients.clear();
    std::vector<std::size_t> places(s.clients.size());  // of each client in `out`
    for (const std::unique_ptr<ClientState>& it : s.clients) {
        const ClientState& client = *it;
        if (!client.is_known) continue;
        places[client.id.value] = out.clients.size();
        out.clients.push_back({.client = client.id,
                               .uploads = client.uploads,
                               .bytes = client.bytes,
                               .refused = client.refused,
                               .is_suspected = s.is_suspected(client)});
    }
    s.jobs.each([&](const Job& job) {
        ClientView& view = out.clients[places[job.line->client->id.value]];
        if (job.state == JobState::running) ++view.running;
        if (job.state != JobState::queued) return;
        ++view.queued;
        view.oldest_wait = std::max(view.oldest_wait, now - job.since);
    });
}

Duration Engine::expected_wait(PoolId id, ClientId client) const {
    const State& s = *state_;
    CHECK(id.value < s.pools.size());
    const Pool& pool = s.pools[id.value];
    const Line none;
    const Line* line = nullptr;
    if (client.value < s.clients.size()) line = s.clients[client.value]->line_in(id);
    return admission::expected_wait(s, pool,
                                    admission::jobs_ahead(pool, line != nullptr ? *line : none));
}

std::optional<JobView> Engine::find(JobId id, Instant now) const {
    const Job* job = state_->jobs.find(id);
    if (job == nullptr) return std::nullopt;
    return JobView{.state = job->state,
                   .pool = job->pool,
                   .lane = job->state == JobState::running ? job->lane : LaneId{},
                   .attempts = job->attempts,
                   .since = now - job->since};
}

}  // namespace turnpike
