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

bool lost_its_job_now(const Ledger& ledger, const KnownAttempt& attempt) {
    return std::ranges::find(ledger.abandoned_now, &attempt) != ledger.abandoned_now.end();
}

/// True if the attempt was certainly forsaken whenever the clock started in this turn. An aside may have lost
/// its job after that, and another attempt may have expired before.
bool was_counted(const Ledger& ledger, const KnownAttempt& attempt) {
    return is_forsaken(attempt) && attempt.expired_lo == never &&
           !(attempt.is_aside && lost_its_job_now(ledger, attempt));
}

/// True if the attempt may have been forsaken when the clock started in this turn.
bool may_have_been_counted(const Ledger& ledger, const KnownAttempt& attempt) {
    return is_forsaken(attempt) || (attempt.job == nullptr && attempt.timed_out_at == ledger.now);
}

/// When the clock ends: at the earliest and at the latest.
struct Patience {
    Instant lo{};
    Instant hi{};
};

/// Returns the bounds for a clock that started in this turn.
Patience patience_from_now(const Ledger& ledger, const KnownWorker& worker) {
    const KnownPool& pool = ledger.pools[worker.pool.value];
    const PoolSettings& rules = *pool.settings;
    if (rules.abandon_after > Duration::zero()) {
        const Instant end = later(ledger.now, rules.abandon_after);
        return {.lo = end, .hi = end};
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
    const Instant least = later(ledger.now, std::max(rules.cancel_grace, start));
    Patience patience{.lo = least, .hi = least};
    Instant earliest_sent = never;
    bool is_any_counted = false;
    for (const KnownAttempt* attempt : worker.aboard) {
        if (may_have_been_counted(ledger, *attempt))
            patience.hi = std::max(patience.hi, later(attempt->sent, longest));
        if (is_forsaken(*attempt)) earliest_sent = std::min(earliest_sent, attempt->sent);
        if (!was_counted(ledger, *attempt)) continue;
        is_any_counted = true;
        patience.lo = std::max(patience.lo, later(attempt->sent, shortest));
    }
    if (!is_any_counted) patience.lo = std::max(patience.lo, later(earliest_sent, shortest));
    return patience;
}

/// Returns whether the clock, which runs before and after this turn, started again in between. It did if a
/// job came aboard and ended at once. It may have if each attempt that it ran for has left or expired, and an
/// aside has lost its job.
Sure did_start_again(const Ledger& ledger, const KnownWorker& worker) {
    if (worker.boarded_turn == ledger.turn) return Sure::yes;
    bool has_new = false;
    for (const KnownAttempt* attempt : worker.aboard) {
        if (!is_forsaken(*attempt)) continue;
        const bool is_new = lost_its_job_now(ledger, *attempt);
        if (!is_new && attempt->expired_lo == never) return Sure::no;
        has_new = has_new || is_new;
    }
    return has_new ? Sure::maybe : Sure::no;
}

/// Sets the bounds of the time that the worker has, now that nobody waits.
void set_clock(const Ledger& ledger, KnownWorker& worker) {
    const bool ran_before = worker.unattended_at != never;
    const Sure has_started = ran_before ? did_start_again(ledger, worker) : Sure::yes;
    if (has_started == Sure::no) return;
    const Patience patience = patience_from_now(ledger, worker);
    const bool may_go_on = has_started == Sure::maybe;
    worker.patience_lo = may_go_on ? std::min(worker.patience_lo, patience.lo) : patience.lo;
    worker.patience_hi = may_go_on ? std::max(worker.patience_hi, patience.hi) : patience.hi;
    if (!may_go_on) worker.unattended_at = ledger.now;
}

/// Records for the attempts of an unattended worker that their time has run out, or may have. It may
/// have run out at the same moment as job_timeout.
void look_at_clock(const Ledger& ledger, const KnownWorker& worker) {
    // The engine looks at the time after every event. Until then a job that came aboard may have stopped the
    // clock, and an attempt that lost its job in this turn may have lost it later.
    const bool is_over = worker.patience_hi <= ledger.now && worker.boarded_turn != ledger.turn;
    for (KnownAttempt* attempt : worker.aboard) {
        if (!is_forsaken(*attempt) && attempt->timed_out_at != ledger.now) continue;
        if (worker.patience_lo <= ledger.now)
            attempt->expired_lo = std::min(attempt->expired_lo, worker.patience_lo);
        if (is_over && !lost_its_job_now(ledger, *attempt)) attempt->timed_out_at = ledger.now;
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
            else
                set_clock(*this, *worker);
        }
    }
    for (KnownPool& pool : pools) pool.answered_before_lo = pool.answered_lo;
}

}  // namespace turnpike::sim
