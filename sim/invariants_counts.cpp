// The engine's view must agree with what the engine did.
#include <algorithm>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

template <class Number>
void compare(Ledger& ledger, std::string_view what, std::uint64_t of, Number seen, Number known) {
    if (seen != known)
        broken(ledger, invariant::counts, "{} {}: the view shows {}, the ledger has {}", what, of,
               seen, known);
}

/// Returns how long the job that was queued first has waited.
Duration oldest_wait(Ledger& ledger, KnownPool& pool) {
    while (!pool.waits.empty()) {
        const KnownJob* job = ledger.find(pool.waits.front().job);
        if (job != nullptr && job->state == JobState::queued &&
            job->key.order == pool.waits.front().order)
            return ledger.now - job->queued_at;
        pool.waits.pop_front();
    }
    return Duration::zero();
}

/// True if the pool or one of its loaded workers has a proof. While no worker is loaded, the worker
/// that became ready last decides.
bool has_proof(const Ledger& ledger, const KnownPool& pool) {
    bool is_loaded = false;
    for (const KnownLane& lane : pool.lanes) {
        const KnownWorker* worker = ledger.current_of(lane);
        if (worker == nullptr || !worker->has_loaded() || worker->is_ending()) continue;
        if (worker->has_proof) return true;
        is_loaded = true;
    }
    return pool.settings->proof != ProofKind::none || (!is_loaded && pool.did_latest_have_example);
}

void check_pool(Ledger& ledger, KnownPool& pool) {
    const PoolView& seen = ledger.seen_pool(pool.id);
    const std::uint64_t id = pool.id.value;
    compare(ledger, "arriving in pool", id, seen.arriving, pool.arriving - pool.arriving_asides);
    compare(ledger, "queued in pool", id, seen.queued, pool.queued);
    compare(ledger, "running in pool", id, seen.running, pool.running);
    if (!(seen.counts == pool.counts))
        broken(ledger, invariant::counts,
               "the view counts other outcomes of pool {} than the ledger", show(pool.id));
    const bool is_usual_possible =
        seen.usual_run == Duration::zero() ||
        (seen.usual_run >= pool.fastest && seen.usual_run <= pool.slowest);
    if (!is_usual_possible)
        broken(ledger, invariant::counts,
               "the view shows {} as the usual run, which it never was in pool {}",
               show(seen.usual_run), show(pool.id));
    if (seen.has_proof != has_proof(ledger, pool))
        broken(ledger, invariant::counts, "the view is wrong about whether pool {} has a proof",
               show(pool.id));
    const auto waiting =
        std::ranges::count_if(pool.lines, [](const auto& it) { return it.second.queued > 0; });
    compare(ledger, "clients waiting in pool", id, seen.clients_waiting,
            static_cast<std::uint64_t>(waiting));
    const Duration wait = oldest_wait(ledger, pool);
    if (seen.oldest_wait != wait)
        broken(ledger, invariant::counts, "the oldest wait of pool {} is {}, not {}", show(pool.id),
               show(wait), show(seen.oldest_wait));
}

bool has_same_workers(const LaneView& seen, const KnownLane& lane) {
    const std::size_t count = (seen.current.is_none() ? 0U : 1U) + (seen.other.is_none() ? 0U : 1U);
    return count == lane.workers.size() &&
           std::ranges::all_of(lane.workers, [&](const KnownWorker* worker) {
               return worker->id == seen.current || worker->id == seen.other;
           });
}

void check_lane(Ledger& ledger, const KnownLane& lane) {
    const LaneView& seen = ledger.seen_lane(lane.id);
    const std::uint64_t id = lane.id.value;
    if (!has_same_workers(seen, lane))
        return broken(ledger, invariant::counts, "lane {} has {} workers, but shows {} and {}",
                      show(lane.id), lane.workers.size(), show(seen.current), show(seen.other));
    for (KnownWorker* worker : lane.workers) {
        if (worker->id == seen.current) worker->past.was_current = true;
        if (worker->id == seen.current && worker->generation != seen.generation)
            broken(ledger, invariant::counts, "lane {} shows generation {}, but runs {}",
                   show(lane.id), show(seen.generation), show(worker->generation));
    }
    compare(ledger, "finished by lane", id, seen.finished, lane.finished);
    compare(ledger, "failed by lane", id, seen.failed, lane.failed);
    if (seen.restarts > 0 && seen.restarts >= lane.starts)
        broken(ledger, invariant::counts, "lane {} shows {} restarts after {} starts",
               show(lane.id), seen.restarts, lane.starts);
    compare(ledger, "aboard lane", id, seen.aboard, lane.riders);
    compare(ledger, "asides on lane", id, seen.asides, lane.asides);
    compare(ledger, "queued for lane", id, seen.queued_for_lane, lane.queued_for_lane);
    const KnownWorker* current = ledger.current_of(lane);
    compare(ledger, "slots of lane", id, seen.slots, ledger.slots_of(lane));
    compare(ledger, "free slots of lane", id, seen.slots_free, ledger.free_slots(lane));
    compare(ledger, "batch of lane", id, seen.batch,
            current != nullptr ? current->batch : ledger.pools[lane.pool.value].settings->batch);
    if (seen.can_take_jobs && seen.is_reserved)
        broken(ledger, invariant::alone, "lane {} is reserved, and takes jobs", show(lane.id));
    if (seen.state == LaneState::ready && lane.riders > 0)
        broken(ledger, invariant::counts, "lane {} is ready with {} attempts aboard", show(lane.id),
               lane.riders);
    if (seen.state == LaneState::busy && lane.riders + lane.asides == 0)
        broken(ledger, invariant::counts, "lane {} is busy, but has nothing aboard", show(lane.id));
}

}  // namespace

void check_counts(Ledger& ledger) {
    for (KnownPool& pool : ledger.pools) check_pool(ledger, pool);
    for (const KnownLane& lane : ledger.lanes) check_lane(ledger, lane);
    const std::uint64_t workers = ledger.workers.size() - ledger.gone_now.size();
    const std::uint64_t attempts = ledger.attempts.size() - ledger.ended_now.size();
    compare(ledger, "jobs, in all", 0, ledger.seen.jobs, std::uint64_t{ledger.jobs.size()});
    compare(ledger, "attempts, in all", 0, ledger.seen.attempts, attempts);
    compare(ledger, "workers, in all", 0, ledger.seen.workers, workers);
    compare(ledger, "bytes, in all", 0, ledger.seen.bytes_held.count, ledger.bytes);
    if (ledger.bytes > ledger.settings.bytes_max.count)
        broken(ledger, invariant::bounds, "{} bytes are held", ledger.bytes);
    if (ledger.seen.is_shutting_down != ledger.is_shutting_down)
        broken(ledger, invariant::counts, "the view is wrong about whether the engine shuts down");
}

}  // namespace turnpike::sim
