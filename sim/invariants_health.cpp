// Probes, proofs and trust: a worker is asked when it is due, and only then.
#include <algorithm>
#include <set>
#include <utility>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

bool has_riders(const KnownWorker& worker) {
    return std::ranges::any_of(worker.aboard,
                               [](const KnownAttempt* attempt) { return !attempt->is_aside; });
}

bool has_closed_exchange(const KnownWorker& worker) {
    return std::ranges::any_of(worker.aboard, [](const auto* it) { return it->is_closed(); });
}

bool is_after_trouble(const KnownWorker& worker) {
    const KnownProof& proof = worker.proof;
    return (worker.has_proof && !proof.has_ever_passed()) || proof.needed != Sure::no ||
           worker.trust.needs_proof || worker.trust.probation != Sure::no ||
           worker.past.is_unsettled;
}

bool is_due(const Ledger& ledger, const KnownWorker& worker, const PoolSettings& rules) {
    if (!worker.has_proof) return false;
    return worker.proof.is_asked || later(worker.proof.passed_at, rules.proof_every) <= ledger.now;
}

const KnownWorker* other_routine_proof(const Ledger& ledger, const KnownWorker& worker) {
    for (const KnownLane& lane : ledger.pools[worker.pool.value].lanes)
        for (const KnownWorker* other : lane.workers)
            if (other != &worker && other->proof.run == ProofRun::routine && !other->is_ending())
                return other;
    return nullptr;
}

/// A worker that certainly needs a proof, and could give it now, must be asked for it.
void check_needed_proof(Ledger& ledger, const KnownWorker& worker) {
    const KnownLane& lane = ledger.lane_of(worker);
    const KnownProof& proof = worker.proof;
    const bool hindered = worker.is_ending() || !worker.aboard.empty() || worker.held != Sure::no ||
                          worker.retired != Sure::no || worker.past.is_unsettled ||
                          worker.trust.probation != Sure::no || lane.is_taken_out();
    if (proof.needed == Sure::yes && !proof.is_running() && !hindered)
        broken(ledger, invariant::health, "worker {} has to prove itself, but is not asked to",
               show(worker.id));
}

void check_probe(Ledger& ledger, const KnownWorker& worker) {
    const PoolSettings& rules = *ledger.pool_of(worker).settings;
    const KnownProbe& probe = worker.probe;
    const Instant since =
        std::max(worker.idle_since, probe.out ? probe.last_sent : probe.last_ended);
    const Duration most =
        probe.out ? std::max(rules.probe_every, rules.probe_timeout) : rules.probe_every;
    const bool may_be_dying = has_closed_exchange(worker) || ledger.cases.contains(worker.trouble);
    if ((worker.aboard.empty() || may_be_dying) && later(since, most) <= ledger.now)
        broken(ledger, invariant::health, "worker {} has been idle for {}, but is not probed",
               show(worker.id), show(ledger.now - since));
}

/// While all workers of a pool are idle and none proves itself, no routine proof may be overdue.
void check_routine_proofs(Ledger& ledger, const KnownPool& pool) {
    if (!ledger.seen_pool(pool.id).reloading.is_none()) return;
    const KnownWorker* due = nullptr;
    for (const KnownLane& lane : pool.lanes) {
        for (const KnownWorker* worker : lane.workers) {
            const bool quiet = worker->has_loaded() && !worker->is_ending() &&
                               worker->aboard.empty() && !worker->proof.is_running() &&
                               !is_after_trouble(*worker) && worker->held == Sure::no &&
                               worker->retired == Sure::no && !lane.outage.is_drained &&
                               !ledger.seen_lane(lane.id).is_reserved;
            if (!quiet) return;
            if (is_due(ledger, *worker, *pool.settings)) due = worker;
        }
    }
    if (due != nullptr)
        broken(ledger, invariant::health,
               "the proof of worker {} is due and nothing prevents it, but it is not asked for",
               show(due->id));
}

}  // namespace

void judge(Ledger& ledger, const ProbeWorker& ask) {
    KnownWorker* worker = ledger.find(ask.worker);
    if (worker == nullptr || worker->is_ending())
        return broken(ledger, invariant::ending, "worker {} is probed, but is ending or gone",
                      show(ask.worker));
    if (!worker->has_loaded())
        return broken(ledger, invariant::health, "worker {} is probed while it loads",
                      show(ask.worker));
    const bool has_closed = has_closed_exchange(*worker) || ledger.cases.contains(worker->trouble);
    if (has_riders(*worker) && worker->held == Sure::no && !has_closed)
        return broken(ledger, invariant::health, "worker {} is probed while it works",
                      show(ask.worker));
    KnownProbe& probe = worker->probe;
    if (worker->held == Sure::no && !has_closed && !probe.was_for_closed &&
        later(probe.last_sent, ledger.pool_of(*worker).settings->probe_every) > ledger.now &&
        probe.last_sent != Instant{})
        return broken(ledger, invariant::health, "worker {} is probed again too soon",
                      show(ask.worker));
    if (probe.out && probe.clean == Sure::yes && worker->held == Sure::no &&
        later(probe.last_sent, ledger.pool_of(*worker).settings->probe_timeout) > ledger.now)
        return broken(ledger, invariant::health, "worker {} is probed again, but may still answer",
                      show(ask.worker));
    if (probe.out) {
        probe.failures_hi += probe.clean != Sure::no ? 1 : 0;
        probe.failures_lo += probe.clean == Sure::yes ? 1 : 0;
    }
    if (probe.failures_lo >= ledger.pool_of(*worker).settings->probe_failures_max)
        return broken(ledger, invariant::health,
                      "worker {} is probed again, but has failed often enough", show(ask.worker));
    worker->must_be_probed = false;
    probe.out = probe.latest = ask.probe;
    probe.was_for_closed = has_closed;
    probe.does_refusal_count =
        !worker->aboard.empty() &&
        std::ranges::all_of(worker->aboard, [](const auto* it) { return it->is_closed(); });
    probe.clean = worker->proof.is_running() || has_riders(*worker) ? Sure::no
                  : worker->aboard.empty()                          ? Sure::yes
                                                                    : Sure::maybe;
    probe.last_sent = ledger.now;
}

void judge(Ledger& ledger, const ProveWorker& ask) {
    KnownWorker* worker = ledger.find(ask.worker);
    if (worker == nullptr || worker->is_ending())
        return broken(ledger, invariant::ending,
                      "worker {} is asked to prove itself, but is ending or gone",
                      show(ask.worker));
    const PoolSettings& rules = *ledger.pool_of(*worker).settings;
    if (!worker->has_loaded() || !worker->has_proof)
        return broken(ledger, invariant::health, "worker {} is asked to prove itself, but can't",
                      show(ask.worker));
    if (has_riders(*worker))
        return broken(ledger, invariant::health,
                      "worker {} is asked to prove itself while it works", show(ask.worker));
    KnownProof& proof = worker->proof;
    if (proof.is_running())
        return broken(ledger, invariant::health,
                      "worker {} is asked to prove itself while it already does", show(ask.worker));
    const bool is_routine = !is_after_trouble(*worker);
    if (is_routine && !is_due(ledger, *worker, rules))
        return broken(ledger, invariant::health,
                      "worker {} is asked to prove itself, but no proof is due", show(ask.worker));
    const KnownWorker* other = is_routine ? other_routine_proof(ledger, *worker) : nullptr;
    if (other != nullptr)
        return broken(ledger, invariant::health, "workers {} and {} prove themselves at once",
                      show(ask.worker), show(other->id));
    KnownProbe& probe = worker->probe;
    probe.clean = Sure::no;
    if (std::exchange(probe.out, std::nullopt)) probe.last_ended = ledger.now;
    proof.number = ask.proof;
    proof.run = is_routine ? ProofRun::routine : ProofRun::after_trouble;
    proof.sent = ledger.now;
}

void judge(Ledger& ledger, const ReportModelFailing& report) {
    KnownLane* lane = ledger.find(report.lane);
    if (lane == nullptr || lane->pool != report.pool)
        return broken(ledger, invariant::failing_lane, "a lane is reported that does not exist");
    if (ledger.is_another_lane_fine(*lane))
        return broken(ledger, invariant::failing_lane,
                      "the model is blamed for the failures of lane {}, but another lane is fine",
                      show(lane->id));
    for (KnownWorker* worker : lane->workers) {  // they serve on, as if nothing had happened
        worker->trust.streak_lo = 0;
        worker->trust.streak_of_lo.clear();
        ledger.drop_distrust(*worker);
    }
}

void judge(Ledger& ledger, const ReportNoMajority& report) {
    std::set<std::uint32_t> groups;
    for (const auto& [id, worker] : ledger.workers)
        if (worker.pool == report.pool && worker.generation == report.generation &&
            worker.proof.vote)
            groups.insert(*worker.proof.vote);
    if (groups.size() < 2)
        broken(ledger, invariant::agreement,
               "pool {} is reported without a majority, but all its workers agree",
               show(report.pool));
}

void check_health(Ledger& ledger) {
    for (const KnownPool& pool : ledger.pools) {
        const bool is_missing = pool.majority == Majority::missing;
        if (pool.majority != Majority::unclear &&
            is_missing != ledger.seen_pool(pool.id).is_majority_missing)
            broken(ledger, invariant::agreement,
                   "pool {} {} a majority, but the view says otherwise", show(pool.id),
                   is_missing ? "lacks" : "has");
        for (const KnownLane& lane : pool.lanes) {
            for (const KnownWorker* worker : lane.workers) check_needed_proof(ledger, *worker);
            if (!ledger.is_time_event) continue;
            const KnownWorker* serving = ledger.serving_worker(lane);
            if (serving != nullptr) check_probe(ledger, *serving);
            for (const KnownWorker* worker : lane.workers)
                if (worker->held == Sure::yes && !worker->is_ending() &&
                    worker->retired == Sure::no)
                    check_probe(ledger, *worker);
        }
        if (ledger.is_time_event) check_routine_proofs(ledger, pool);
    }
}

}  // namespace turnpike::sim
