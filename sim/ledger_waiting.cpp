// Whether anybody waits for what is aboard a worker, and how long the worker may go on if nobody does.
#include <algorithm>

#include "sim/ledger.h"

namespace turnpike::sim {

namespace {

constexpr Duration long_run = 30s;  // if the usual time is unknown

bool is_forsaken(const KnownAttempt& attempt) {
    return attempt.job == nullptr && !attempt.is_closed() && attempt.timed_out_at == never;
}

bool does_nobody_wait(const KnownWorker& worker) {
    return std::ranges::any_of(worker.aboard, [](const auto* it) { return is_forsaken(*it); }) &&
           std::ranges::none_of(worker.aboard,
                                [](const auto* it) { return it->job != nullptr && !it->is_aside; });
}

/// Sets the bounds of the time that the worker has, now that nobody waits.
void start_clock(const Ledger& ledger, KnownWorker& worker) {
    const PoolSettings& rules = *ledger.pools[worker.pool.value].settings;
    const KnownPool& pool = ledger.pools[worker.pool.value];
    worker.unattended_at = ledger.now;
    if (rules.abandon_after > Duration::zero()) {
        worker.patience_lo = worker.patience_hi = ledger.now + rules.abandon_after;
        return;
    }
    const Duration then = ledger.pool_before(pool.id).usual_run * rules.slow_factor;
    const Duration usual = ledger.seen_pool(pool.id).usual_run * rules.slow_factor;
    const bool is_known = pool.answered_before_lo >= rules.slow_samples_min;
    const bool is_unknown = pool.answered_hi < rules.slow_samples_min;
    const Duration shortest =
        is_unknown ? long_run : std::min({then, usual, is_known ? usual : long_run});
    const Duration longest = is_known ? std::max(then, usual) : std::max({then, usual, long_run});
    const Duration start =
        ledger.is_owned(worker) ? worker.ready_at - worker.started_at : Duration::zero();
    worker.patience_lo = worker.patience_hi = ledger.now + std::max(rules.cancel_grace, start);
    for (const KnownAttempt* attempt : worker.aboard) {
        if (!is_forsaken(*attempt)) continue;
        worker.patience_lo = std::max(worker.patience_lo, later(attempt->sent, shortest));
        worker.patience_hi = std::max(worker.patience_hi, later(attempt->sent, longest));
    }
}

/// Records for the attempts of an unattended worker that their time has run out, or may have. It may
/// have run out at the same moment as job_timeout.
void look_at_clock(const Ledger& ledger, const KnownWorker& worker) {
    // The engine looks at the time after every event. The event may have put a job aboard.
    const bool is_over =
        worker.patience_hi <= ledger.now && (ledger.is_time_event || does_nobody_wait(worker));
    for (KnownAttempt* attempt : worker.aboard) {
        if (!is_forsaken(*attempt) && attempt->timed_out_at != ledger.now) continue;
        if (worker.patience_lo <= ledger.now)
            attempt->expired_lo = std::min(attempt->expired_lo, worker.patience_lo);
        if (is_over) attempt->timed_out_at = ledger.now;
    }
}

}  // namespace

void Ledger::look_for_waiting_jobs() {
    for (KnownLane& lane : lanes) {
        for (KnownWorker* worker : lane.workers) {
            if (worker->unattended_at != never && !worker->is_ending())
                look_at_clock(*this, *worker);
            if (worker->is_ending() || !does_nobody_wait(*worker))
                worker->unattended_at = never;
            else if (worker->unattended_at == never)
                start_clock(*this, *worker);
        }
    }
    for (KnownPool& pool : pools) pool.answered_before_lo = pool.answered_lo;
}

}  // namespace turnpike::sim
