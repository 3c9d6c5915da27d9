// How the ledger takes each event. It ignores events that make no sense or are about something that
// is gone.
#include <algorithm>
#include <variant>

#include "sim/ledger.h"

namespace turnpike::sim {

namespace {

EndReason end_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::answered: return EndReason::answered;
        case Verdict::bad_input: return EndReason::bad_input;
        case Verdict::model_failed: return EndReason::model_failed;
        case Verdict::non_finite: return EndReason::non_finite;
        case Verdict::out_of_memory: return EndReason::out_of_memory;
        case Verdict::shortage: return EndReason::shortage;
        case Verdict::unhealthy:
        case Verdict::broken:
        case Verdict::undelivered:
        case Verdict::cancelled:
        case Verdict::closed:
        case Verdict::stale: break;
    }
    return EndReason::worker_died;
}

class Reader {
public:
    explicit Reader(Ledger& ledger) : to_(ledger) {}

    // ── from clients ──
    void operator()(const JobArrived& e) { to_.arrival = &e; }

    void operator()(const BodyGrew& e) {
        if (KnownJob* job = find_arriving(e.job)) to_.begin_growth(*job, e.total, false);
    }

    void operator()(const BodyCompleted& e) {
        if (KnownJob* job = find_arriving(e.job)) to_.begin_growth(*job, e.total, true);
    }

    void operator()(const JobHashed& e) {
        to_.take_digest_of_poison(e.job, e.digest);
        KnownJob* job = to_.find(e.job);
        if (job == nullptr || job->hash != HashStage::asked) return;
        job->hash = HashStage::none;
        job->was_compared = true;
        const KnownPoison* known = to_.find_poison(to_.pools[job->pool.value], e.digest);
        if (known == nullptr) return to_.enqueue(*job, Entry::fresh);
        job->equal_to = known->first;
        to_.expect_end(*job, EndReason::known_poison);
    }

    void operator()(const BodyFailed& e) {
        if (KnownJob* job = find_arriving(e.job)) to_.expect_end(*job, EndReason::body_failed);
    }

    void operator()(const JobRouted& e) {
        KnownJob* job = find_arriving(e.job);
        if (job == nullptr) return;
        if (e.pool.value >= to_.pools.size() || e.pool == job->pool) return;
        to_.move(*job, e.pool);
        to_.touched_jobs.push_back(job->id);
    }

    void operator()(const ClientLeft& e) {
        if (KnownJob* job = to_.find(e.job)) to_.expect_end(*job, reason_of(e.why));
    }
    void operator()(const CancelAsked& e) {
        if (KnownJob* job = to_.find(e.job)) to_.expect_end(*job, EndReason::cancel_asked);
    }

    void operator()(const ClientForgotten& e) {
        const auto client = to_.clients.find(e.client);
        if (client != to_.clients.end() && client->second.live == 0) client->second = {};
    }

    // ── from workers ──
    void operator()(const WorkerStarted& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->is_ending() || worker->has_loaded()) return;
        worker->progressed_hi = to_.now;
        if (worker->life == WorkerLife::starting) worker->progressed_lo = to_.now;
        worker->life = WorkerLife::loading;
    }

    void operator()(const LoadProgressed& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->is_ending() || worker->has_loaded()) return;
        worker->progressed_hi = to_.now;
        if (worker->life == WorkerLife::loading) worker->progressed_lo = to_.now;
    }

    void operator()(const WorkerReady& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->is_ending() || worker->has_loaded()) return;
        worker->life = WorkerLife::ready;
        worker->ready_at = worker->idle_since = to_.now;
        take_word(*worker, e);
        if (worker->has_proof) worker->proof.needed = Sure::yes;
    }

    void operator()(const WorkerExited& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->exited_at != never) return;
        const bool by_itself = !worker->is_ending();
        const bool was_short = e.cause == ExitCause::shortage;
        if (worker->end_reason == Reason::none)
            worker->end_reason = was_short ? Reason::shortage : Reason::exited;
        if (worker->killed_at == never) to_.demand_kill(*worker);
        worker->exited_at = to_.now;
        if (by_itself && was_short) to_.allow_shortage_delay(*worker);
        to_.die(*worker, by_itself && !was_short ? Ledger::Death::own : Ledger::Death::ordered);
    }

    void operator()(const WorkerGone& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr) return;
        KnownLane& lane = to_.lane_of(*worker);
        const bool by_itself = !worker->is_ending();
        if (worker->exited_at == never) worker->exited_at = to_.now;
        to_.die(*worker, by_itself ? Ledger::Death::own : Ledger::Death::ordered);
        worker->life = WorkerLife::gone;
        to_.gone_now.push_back(worker);
        std::erase(lane.workers, worker);
        lane.last_gone = to_.now;
        if (!worker->past.has_crashed && worker->has_loaded() &&
            to_.now - worker->ready_at >= to_.pool_of(*worker).settings->restart_good_run)
            lane.crash_row = 0;
        if (e.memory == Memory::held)
            lane.memory_held = Sure::yes;
        else
            lower_to(lane.memory_held, Sure::maybe);
        lane.must_start = starts_at_once(*worker, lane, e.memory);
    }

    void operator()(const WorkerMisbehaved& e) {
        if (KnownWorker* worker = to_.find(e.worker)) misbehave(*worker);
    }

    // ── about attempts ──
    void operator()(const AnswerBegun& e) {
        KnownAttempt* attempt = moved(e.worker, e.attempt);
        if (attempt != nullptr) attempt->stage = AttemptStage::answering;
    }
    void operator()(const AnswerMoved& e) { moved(e.worker, e.attempt); }

    void operator()(const AttemptEnded& e) {
        KnownAttempt* attempt = to_.find(e.attempt);
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr) return;
        if (attempt == nullptr) return;
        if (attempt->worker != worker) return misbehave(*worker);
        end_attempt(*worker, *attempt, e.verdict);
    }

    void operator()(const ProbeEnded& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->is_ending() || worker->probe.out != e.probe) return;
        KnownProbe& probe = worker->probe;
        probe.out.reset();
        probe.last_ended = to_.now;
        const bool clean = probe.clean == Sure::yes;
        switch (e.verdict) {
            case ProbeVerdict::answered:
                to_.take_probe_answer(*worker, e.probe);
                probe.failures_lo = probe.failures_hi = 0;
                if (worker->has_proof)
                    raise_to(worker->proof.needed,
                             clean ? worker->held : std::min(worker->held, Sure::maybe));
                lower_to(worker->held, clean ? Sure::no : Sure::maybe);
                break;
            case ProbeVerdict::silent:
                probe.failures_hi += probe.clean != Sure::no ? 1 : 0;
                probe.failures_lo += clean ? 1 : 0;
                break;
            case ProbeVerdict::not_sent: break;
            case ProbeVerdict::refused:
                probe.was_refused = probe.clean != Sure::no || probe.does_refusal_count;
                if (clean || probe.does_refusal_count) to_.demand_kill(*worker);
                break;
        }
        if (probe.failures_lo >= to_.pool_of(*worker).settings->probe_failures_max)
            to_.demand_kill(*worker);
    }

    void operator()(const ProofEnded& e) {
        KnownWorker* worker = to_.find(e.worker);
        if (worker == nullptr || worker->is_ending() || !worker->proof.is_running() ||
            worker->proof.number != e.proof)
            return;
        KnownProof& proof = worker->proof;
        if (e.verdict == ProofVerdict::not_sent) {
            proof.sent = to_.now;  // it is still under way
            return;
        }
        proof.run = ProofRun::none;
        worker->idle_since = to_.now;
        if (e.verdict == ProofVerdict::failed) return fail_proof(*worker);
        const ProofKind kind = to_.pool_of(*worker).settings->proof;
        if ((kind == ProofKind::agree) != (e.verdict == ProofVerdict::grouped))
            worker->past.is_unsettled = true;
        proof.needed = Sure::no;
        proof.is_asked = worker->trust.needs_proof = false;
        if (!proof.has_ever_passed()) proof.first_passed_at = to_.now;
        proof.passed_at = to_.now;
        worker->probe.failures_lo = worker->probe.failures_hi = 0;
        to_.lane_of(*worker).proof_failures_row = 0;
        if (e.verdict == ProofVerdict::grouped) to_.take_vote(*worker, e.group);
    }

    // ── from the machine and the operator ──
    void operator()(const MemoryFreed& e) {
        if (KnownLane* lane = to_.find(e.lane)) lane->memory_held = Sure::no;
    }

    void operator()(const GpuLost& e) {
        KnownLane* lane = to_.find(e.lane);
        if (lane == nullptr) return;
        lane->outage.is_gpu_lost = true;
        for (KnownWorker* worker : lane->workers)
            if (!worker->is_ending()) to_.demand_kill(*worker);
    }

    void operator()(const GateOpened&) { to_.is_open = true; }

    void operator()(const DrainAsked& e) {
        KnownLane* lane = to_.find(e.lane);
        if (lane == nullptr || lane->outage.is_gpu_lost) return;
        const LaneState then = to_.lane_before(lane->id).state;
        if (is_off(then) && then != LaneState::failed) return;
        if (lane->outage.must_stay_down && then != LaneState::failed) return;
        lane->outage.is_drained = true;
        lane->outage.had_failed_before_reload = false;
        lane->outage.must_stay_down = lane->outage.must_fail = false;
        for (KnownWorker* worker : lane->workers) worker->past.was_drained = true;
    }

    void operator()(const ResumeAsked& e) {
        KnownLane* lane = to_.find(e.lane);
        if (lane == nullptr || !lane->outage.is_drained) return;
        lane->outage.is_drained = false;
        to_.reset_crashes(*lane);
        for (KnownWorker* worker : lane->workers) to_.drop_distrust(*worker);
        for (KnownWorker* worker : lane->workers) {
            if (!worker->has_proof) continue;
            const bool served = worker->proof.has_ever_passed() && to_.was_current(*worker);
            raise_to(worker->proof.needed, served ? Sure::yes : Sure::maybe);
        }
    }

    void operator()(const RestartAsked& e) {
        KnownLane* lane = to_.find(e.lane);
        if (lane == nullptr) return;
        revive(*lane);
        for (KnownWorker* worker : lane->workers) {
            const bool has_served =
                worker->has_loaded() && (worker->proof.has_ever_passed() || !worker->has_proof);
            if (to_.was_current(*worker) && !worker->is_ending()) {
                if (!has_served) to_.demand_end(*worker);
                if (worker->retired == Sure::yes && !worker->past.perhaps_disagreed &&
                    !worker->aboard.empty())
                    to_.demand_kill(*worker);
                if (has_served) worker->retired = Sure::yes;
            }
            ++worker->past.restarts_asked;
            raise_to(worker->retired, Sure::maybe);
        }
    }

    void operator()(const ReloadAsked& e) {
        KnownPool* pool = to_.find(e.pool);
        if (pool == nullptr || e.generation.is_none()) return;
        const Generation good = to_.pool_before(e.pool).good;
        const bool is_newest =
            std::ranges::all_of(pool->asked, [&](Generation g) { return g < e.generation; });
        if (!is_newest || !(good < e.generation)) pool->had_odd_reload = true;
        pool->asked.push_back(e.generation);
        pool->newest = std::max(pool->newest, e.generation);
        std::erase(pool->failed, e.generation);
    }

    void operator()(const ProveAsked& e) {
        KnownPool* pool = to_.find(e.pool);
        if (pool == nullptr) return;
        for (KnownLane& lane : pool->lanes)
            for (KnownWorker* worker : lane.workers)
                worker->proof.is_asked = worker->proof.is_asked || worker->has_proof;
    }

    void operator()(const ShutdownAsked& e) {
        to_.is_shutting_down = true;
        to_.shutdown_asked_at = std::min(to_.shutdown_asked_at, to_.now);
        to_.shutdown_by = std::min(to_.shutdown_by, later(to_.now, e.patience));
    }

    void operator()(const TimePassed&) {}

private:
    /// Applies the slots and the batch that a worker announces, within bounds. With
    /// CancelPolicy::kill a worker takes one job at a time.
    void take_word(KnownWorker& worker, const WorkerReady& said) {
        KnownPool& pool = to_.pool_of(worker);
        pool.did_latest_have_example = said.has_example;
        worker.has_proof = worker.has_proof || said.has_example;
        if (said.slots != 0) worker.slots = std::min(said.slots, slots_max);
        if (said.batch != 0) worker.batch = std::min(said.batch, batch_max);
        if (pool.settings->cancel == CancelPolicy::kill) worker.slots = worker.batch = 1;
    }

    void revive(KnownLane& lane) {
        lane.outage = {};
        lane.row_lo = lane.row_hi = {};
        to_.pools[lane.pool.value].poisons.clear();
        to_.pools[lane.pool.value].poisons_in_row = 0;
        to_.forgive_clients();
        to_.clear_in_all_cases(lane, Sure::yes);
        to_.reset_crashes(lane);
        lane.crashes_hi.clear();
        lane.proof_failures_row = lane.proof_failures_hi = 0;
        lane.disagreements_row = lane.disagreements_hi = 0;
    }

    /// True if the lane must start its next worker in this turn: the engine ordered the end of the
    /// worker, it was no crash, and nothing else delays the start.
    bool starts_at_once(const KnownWorker& worker, const KnownLane& lane, Memory memory) const {
        const Reason reason = worker.end_reason;
        const bool was_ordered = reason == Reason::job_stuck || reason == Reason::job_abandoned ||
                                 reason == Reason::job_cancelled || reason == Reason::restart_asked;
        return was_ordered && !worker.past.has_crashed && memory == Memory::freed &&
               lane.memory_held == Sure::no && lane.workers.empty() && !lane.is_taken_out() &&
               lane.not_before <= to_.now && lane.last_trouble < worker.progressed_lo &&
               !lane.outage.must_stay_down && !is_off(to_.lane_before(lane.id).state) &&
               !to_.is_shutting_down && to_.settings.load_parallel_max == 0 &&
               to_.was_current(worker) && to_.pool_before(worker.pool).reloading.is_none() &&
               to_.seen_pool(worker.pool).reloading.is_none() && !to_.is_late;
    }

    void misbehave(KnownWorker& worker) {
        if (worker.is_ending()) return;
        to_.demand_kill(worker);
        to_.die(worker, Ledger::Death::own);
    }

    KnownAttempt* moved(WorkerId from, AttemptId id) {
        KnownAttempt* attempt = to_.find(id);
        KnownWorker* worker = to_.find(from);
        if (attempt == nullptr || worker == nullptr) return nullptr;
        if (attempt->worker != worker) {
            misbehave(*worker);
            return nullptr;
        }
        if (attempt->job == nullptr) return nullptr;
        attempt->moved = to_.now;
        return attempt;
    }

    void end_attempt(KnownWorker& worker, KnownAttempt& attempt, Verdict verdict) {
        if (worker.is_ending()) return to_.leave_worker(attempt);
        worker.probe.failures_lo = 0;  // the rules leave open which ends count as an answer
        switch (verdict) {
            case Verdict::answered:
            case Verdict::bad_input:
            case Verdict::model_failed:
            case Verdict::non_finite:
            case Verdict::out_of_memory: return answer(attempt, verdict);
            case Verdict::unhealthy:
                to_.demand_kill(worker);
                return to_.die(worker, Ledger::Death::own);
            case Verdict::broken: return to_.take_broken_link(attempt);
            case Verdict::undelivered: return to_.take_undelivered(attempt);
            case Verdict::stale: return to_.take_stale(attempt);
            case Verdict::shortage: return fall_short(attempt);
            case Verdict::closed:
                return attempt.job == nullptr ? to_.take_closed(attempt)
                                              : answer(attempt, Verdict::model_failed);
            case Verdict::cancelled:
                return attempt.is_cancelled ? to_.leave_worker(attempt)
                                            : answer(attempt, Verdict::model_failed);
        }
    }

    void fall_short(KnownAttempt& attempt) {
        KnownJob* const job = attempt.job;
        const LaneId lane = attempt.worker->lane;
        const bool is_aside = attempt.is_aside;
        to_.leave_worker(attempt);
        attempt.job = nullptr;
        if (job == nullptr) return;
        if (!is_aside) to_.lanes[lane.value].last_job_lo = to_.now;
        to_.expect_end(*job, EndReason::shortage);
    }

    void answer(KnownAttempt& attempt, Verdict verdict) {
        KnownWorker& worker = *attempt.worker;
        KnownPool& pool = to_.pool_of(worker);
        to_.take_outcome(attempt, verdict);
        if (!attempt.is_aside) to_.answered(to_.lane_of(worker));
        if (verdict == Verdict::answered) {
            if (attempt.job != nullptr && !attempt.is_aside) worker.probe.failures_hi = 0;
            ++pool.answered_hi;
            if (attempt.job != nullptr && !attempt.is_aside) ++pool.answered_lo;
            pool.fastest = std::min(pool.fastest, to_.now - attempt.sent);
            pool.slowest = std::max(pool.slowest, to_.now - attempt.sent);
        }
        KnownJob* job = attempt.job;
        to_.leave_worker(attempt);
        if (job == nullptr) return;
        if (!attempt.is_aside) to_.lane_of(worker).last_job_lo = to_.now;
        to_.expect_end(*job, end_of(verdict));
    }

    void fail_proof(KnownWorker& worker) {
        KnownLane& lane = to_.lane_of(worker);
        KnownPool& pool = to_.pool_of(worker);
        worker.proof.has_failed = true;
        to_.demand_end(worker);
        ++lane.proof_failures_hi;
        to_.allow_restart_delay(worker);
        lane.crashes_hi.push_back(to_.now);
        const Generation good = to_.pool_before(worker.pool).good;
        if (worker.generation != good) {
            if (!is_among(pool.ever_good, worker.generation))
                pool.failed.push_back(worker.generation);
            return;
        }
        if (!to_.was_current(worker) || lane.outage.is_drained || worker.retired != Sure::no ||
            to_.is_late)
            return;
        lane.not_before =
            std::max(lane.not_before, to_.now + jittered_min(pool.settings->restart_delay_min));
        const bool is_reloading = !to_.pool_before(worker.pool).reloading.is_none() ||
                                  !to_.seen_pool(worker.pool).reloading.is_none();
        if (++lane.proof_failures_row >= 2 && pool.settings->ownership == Ownership::owned &&
            !is_reloading)
            lane.outage.must_stay_down = lane.outage.must_be_quarantined = true;
    }

    /// Returns the job if its body is still on its way, or nullptr.
    KnownJob* find_arriving(JobId id) {
        KnownJob* job = to_.find(id);
        const bool is_arriving = job != nullptr && job->state == JobState::arriving;
        return is_arriving && job->hash == HashStage::none ? job : nullptr;
    }

    Ledger& to_;
};

}  // namespace

void Ledger::take(const Event& what) { std::visit(Reader(*this), what); }

}  // namespace turnpike::sim
