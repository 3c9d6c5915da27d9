// Settings of a run: every limit is small enough to be reached, and every wait short enough to end
// during the run.
#include "sim/chance.h"
#include "sim/plan.h"

namespace turnpike::sim {

namespace {

std::uint32_t count(Random& random, std::int64_t low, std::int64_t high) {
    return static_cast<std::uint32_t>(random.between(low, high));
}

void draw_size(const Scenario& scenario, Random& random, PoolSettings& pool) {
    const bool many = random.chance(scenario.many_lanes);
    pool.lanes = many ? count(random, 7, 16) : count(random, 1, 5);
    if (random.chance(scenario.single_lane)) pool.lanes = 1;
    if (random.chance(scenario.slots)) pool.slots = count(random, 2, 4);
    if (random.chance(scenario.batches)) pool.batch = count(random, 2, 5);
    if (random.chance(scenario.attached)) pool.ownership = Ownership::attached;
    pool.aside_max = count(random, 1, 4);
}

void draw_waits(Random& random, PoolSettings& pool) {
    pool.queue_wait_max = between(random, 4s, 40s);
    pool.age_step = between(random, 50ms, 8s);
    pool.job_timeout = between(random, 1s, 10s);
    pool.cancel_grace = between(random, 100ms, 3s);
    pool.load_timeout = between(random, 1s, 8s);
    pool.stop_grace = between(random, 200ms, 3s);
    pool.kill_patience = between(random, 300ms, 4s);
    pool.restart_delay_min = between(random, 50ms, 500ms);
    pool.restart_delay_max = between(random, 500ms, 8s);
    pool.restart_good_run = between(random, 1s, 15s);
    pool.crash_window = between(random, 5s, 90s);
    if (pool.crash_window / 1ms % 3 == 0) pool.crash_window /= 15;
    pool.revive_every = between(random, 1s, 20s);
    pool.probe_every = between(random, 600ms, 8s);
    pool.probe_timeout = pool.probe_every / 2 * (1 + pool.probe_every / 1ms % 8);
    pool.proof_every = between(random, 4s, 40s);
    pool.proof_timeout = between(random, 500ms, 4s);
    pool.slow_min = between(random, 50ms, 1s);
    if (random.chance(40)) pool.abandon_after = between(random, 100ms, 5s);
    pool.poison_keep = random.chance(5) ? 0s : between(random, 1s, 60s);
}

ReloadKind draw_rules(const Scenario& scenario, Random& random, PoolSettings& pool) {
    pool.cancel = random.chance(50) ? CancelPolicy::finish : CancelPolicy::close;
    if (random.chance(40) && pool.slots == 1 && pool.batch == 1) pool.cancel = CancelPolicy::kill;
    pool.may_retry = !random.chance(scenario.no_retry);
    pool.crash_limit = count(random, 2, 5);
    pool.probe_failures_max = count(random, 1, 4);
    pool.fail_streak = count(random, 1, 4);
    const bool is_roomy = random.chance(50);
    pool.slow_factor = count(random, 2, 8);
    pool.slow_samples_min = count(random, 1, 8);
    if (random.chance(scenario.fixed_proofs)) pool.proof = ProofKind::fixed;
    if (random.chance(scenario.agreeing)) pool.proof = ProofKind::agree;
    return is_roomy ? ReloadKind::beside : ReloadKind::in_place;
}

void draw_limits(const Scenario& scenario, Random& random, Settings& settings) {
    for (PoolSettings& pool : settings.pools) {
        const bool tight = random.chance(scenario.tight);
        pool.queue_jobs_max = tight ? count(random, 2, 12) : count(random, 30, 300);
    }
    if (random.chance(scenario.tight)) settings.bytes_max = Bytes{1000 * count(random, 4, 60)};
    if (random.chance(scenario.tight)) settings.arriving_max = count(random, 2, 8);
    if (random.chance(15 + scenario.tight)) settings.load_parallel_max = count(random, 1, 3);
    settings.retry_after_min = between(random, 100ms, 2s);
    settings.retry_after_max = between(random, 3s, 60s);
}

/// Makes the limits so wide that a world without faults answers every job.
void widen(Settings& settings) {
    for (PoolSettings& pool : settings.pools) {
        pool.queue_jobs_max = 1000;
        pool.queue_wait_max = 10min;
        pool.job_timeout = 60s;
    }
    settings.bytes_max = gibibyte;
    settings.arriving_max = 1000;
}

}  // namespace

void draw_settings(const Scenario& scenario, Random random, Plan& plan) {
    Settings& settings = plan.settings;
    settings.seed = random.next();
    settings.pools.resize(random.chance(65) ? 1 : count(random, 2, 3));
    for (PoolSettings& pool : settings.pools) {
        draw_size(scenario, random, pool);
        draw_waits(random, pool);
        plan.reload_kinds.push_back(draw_rules(scenario, random, pool));
    }
    draw_limits(scenario, random, settings);
    if (scenario.is_calm) widen(settings);
    if (scenario.clients_max == 1) return;
    settings.suspicion_keep = between(random, 500ms, 30s);
    if (scenario.large > 0) settings.bytes_max = Bytes{mebibyte.count * count(random, 4, 24)};
    // A tenth of the whole must be more than nothing.
    if (random.chance(scenario.tight)) settings.arriving_max = count(random, 10, 24);
    for (PoolSettings& pool : settings.pools)
        if (random.chance(scenario.tight)) pool.queue_jobs_max = count(random, 10, 40);
}

}  // namespace turnpike::sim
