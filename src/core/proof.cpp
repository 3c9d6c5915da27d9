#include "core/proof.h"

#include <cstdint>
#include <optional>

#include "core/health.h"
#include "core/reload.h"
#include "core/state.h"

namespace turnpike::proof {

namespace {

/// Visits the workers of one generation whose votes count.
void each_voter(State& s, const Pool& pool, Generation generation, auto&& visit) {
    s.each_lane(pool, [&](Lane& lane) {
        for (Worker* worker : {lane.current, lane.other}) {
            if (worker == nullptr || !worker->vote || worker->generation != generation) continue;
            if (worker->role != Role::leaving && worker->hold != Hold::retire) visit(*worker);
        }
    });
}

/// Returns the vote of a strict majority of the generation's voters, or nullopt if there is none.
std::optional<std::uint32_t> majority_of(State& s, const Pool& pool, Generation generation) {
    std::optional<std::uint32_t> majority;
    std::uint32_t voters = 0;
    each_voter(s, pool, generation, [&](const Worker&) { ++voters; });
    each_voter(s, pool, generation, [&](const Worker& worker) {
        std::uint32_t alike = 0;
        each_voter(s, pool, generation, [&](const Worker& other) {
            if (other.vote == worker.vote) ++alike;
        });
        if (2 * alike > voters) majority = worker.vote;
    });
    return majority;
}

/// Counts a wrong answer against the lane, unless the worker runs code that a reload is still
/// trying.
void answered_wrong(State& s, const Worker& worker) {
    Lane& lane = s.lane_of(worker);
    if (worker.role == Role::current && !reload::is_trial(s, lane, worker)) ++lane.proofs_failed;
}

void vote(State& s, Worker& worker, std::uint32_t group) {
    Pool& pool = s.pool_of(worker);
    worker.vote = group;
    const std::optional<std::uint32_t> majority = majority_of(s, pool, worker.generation);
    pool.is_majority_missing = !majority;
    if (!majority) {
        s.act(ReportNoMajority{pool.id, worker.generation});
        return;
    }
    each_voter(s, pool, worker.generation, [&](Worker& voter) {
        if (voter.vote == majority) {
            s.lane_of(voter).proofs_failed = 0;
        } else {
            answered_wrong(s, voter);
            worker::hold(s, voter, Hold::retire, Reason::disagrees);
        }
    });
}

void passed(State& s, Worker& worker) {
    health::worker_answered(worker);
    worker::serve(s, worker);
    worker.proof_due = later(s.now, s.pool_of(worker).settings.proof_every);
    s.pool_of(worker).needs_proof_schedule = true;
}

void failed(State& s, Worker& worker) {
    Pool& pool = s.pool_of(worker);
    const Generation generation = worker.generation;
    answered_wrong(s, worker);
    worker::bring_down(s, worker, Reason::proof_failed, Stop::ask);
    reload::proof_failed(s, pool, generation);
}

/// Gives the worker the whole `proof_timeout` from now on.
void give_time(State& s, Worker& worker) {
    s.timers.arm(worker.timer, later(s.now, s.pool_of(worker).settings.proof_timeout));
}

bool is_under_way(const Worker* worker) {
    return worker != nullptr && (worker->state == WorkerState::proving ||
                                 (worker->is_serving() && worker->hold == Hold::prove));
}

}  // namespace

void begin(State& s, Worker& worker) {
    worker.state = WorkerState::proving;
    health::forget_probe(s, worker);
    worker.vote.reset();
    s.act(ProveWorker{worker.id, ++worker.proof});
    give_time(s, worker);
}

void ended(State& s, const ProofEnded& event) {
    Worker* worker = s.workers.find(event.worker);
    if (worker == nullptr || worker->state != WorkerState::proving) return;
    if (event.proof != worker->proof) return;
    switch (event.verdict) {
        case ProofVerdict::failed: return failed(s, *worker);
        case ProofVerdict::passed: s.lane_of(*worker).proofs_failed = 0; return passed(s, *worker);
        case ProofVerdict::grouped: passed(s, *worker); return vote(s, *worker, event.group);
        case ProofVerdict::not_sent: return give_time(s, *worker);
    }
}

void asked(State& s, PoolId id) {
    Pool* pool = s.find_pool(id);
    if (pool == nullptr) return;
    s.each_lane(*pool, [&](Lane& lane) {
        if (lane.current != nullptr && lane.current->has_proof) lane.current->proof_due = s.now;
    });
    pool->needs_proof_schedule = true;
    s.touch(*pool);
}

void schedule(State& s, Pool& pool) {
    pool.needs_proof_schedule = false;
    if (is_under_way(s.workers.find(pool.periodic_proof))) return;
    Worker* first = nullptr;
    s.each_lane(pool, [&](const Lane& lane) {
        Worker* worker = lane.current;
        if (worker == nullptr || !worker->is_serving() || worker->hold != Hold::none) return;
        if (first == nullptr || worker->proof_due < first->proof_due) first = worker;
    });
    if (first == nullptr) return;
    if (first->proof_due > s.now) return s.timers.arm(pool.proof_timer, first->proof_due);
    pool.periodic_proof = first->id;
    worker::hold(s, *first, Hold::prove, Reason::proof_due);
}

void worker_down(State& s, const Worker& worker) {
    if (worker.has_proof) s.pool_of(worker).needs_proof_schedule = true;
}

}  // namespace turnpike::proof
