// The workload of a run: jobs in clusters. Everything that will happen to a job is drawn here.
#include <algorithm>

#include "sim/chance.h"
#include "sim/plan.h"

namespace turnpike::sim {

namespace {

/// Returns how long jobs usually run: from so short that lanes are mostly idle to about as long as
/// the lanes can keep up with.
Duration draw_usual_run(Random& random) {
    const auto luck = random.below(3);
    if (luck == 0) return between(random, 2ms, 30ms);
    if (luck == 1) return between(random, 30ms, 300ms);
    return between(random, 300ms, 1500ms);
}

Ending draw_ending(const Scenario& scenario, Random& random) {
    if (!random.chance(scenario.trouble))
        return random.chance(3) ? Ending::bad_input : Ending::answers;
    for (;;) {
        const auto ending = static_cast<Ending>(random.below(10));
        if (scenario.endings.has(ending)) return ending;
    }
}

LaneId draw_wanted(const Plan& plan, PoolId pool, Random& random) {
    if (random.chance(6)) return LaneId{plan.lanes() + random.below(3)};  // no such lane
    for (;;) {
        const LaneId lane{random.below(plan.lanes())};
        // Rarely a lane of another pool.
        if (plan.pool_of(lane) == pool || random.chance(5)) return lane;
    }
}

void draw_body(const Scenario& scenario, Random& random, JobScript& job) {
    job.total = Bytes{random.below(random.chance(10) ? 20000 : 1500)};
    job.declared = job.total;
    if (!random.chance(scenario.slow_uploads)) return;
    job.upload = between(random, 1ms, random.chance(50) ? 300ms : 5s);
    if (random.chance(50)) {
        job.chunks = static_cast<std::uint32_t>(random.between(1, 5));
        job.declared = Bytes{random.chance(50) ? 0 : job.total.count / 4};
    }
    if (scenario.leaves > 0 && random.chance(20)) {
        job.stalls = true;
        job.leaves_after = between(random, 1s, 20s);
    }
}

void draw_run(const Scenario& scenario, Duration usual, Random& random, JobScript& job) {
    job.run = between(random, usual / 2, 2 * usual);
    if (random.chance(4) && !scenario.is_calm) job.run = between(random, 1s, 12s);
    job.ending = draw_ending(scenario, random);
    job.ending_times = random.chance(50) ? 1000 : 1 + static_cast<std::uint32_t>(random.below(2));
    if (random.chance(scenario.streams))
        job.stream_parts = static_cast<std::uint32_t>(random.between(1, 5));
    job.ignores_cancel = random.chance(job.ending == Ending::hangs ? 50 : 20);
}

void draw_client(const Scenario& scenario, Duration usual, Random& random, JobScript& job) {
    if (random.chance(scenario.priorities))
        job.priority = Priority{static_cast<std::uint8_t>(random.below(Priority::levels))};
    const Duration soon = 4 * usual + 200ms;
    if (random.chance(scenario.leaves)) job.leaves_after = between(random, 0ms, soon);
    if (random.chance(scenario.deletes)) job.deleted_after = between(random, 0ms, soon);
    if (random.chance(scenario.timeouts))
        job.timeout = between(random, 1ms, random.chance(70) ? soon : 10s);
}

}  // namespace

void add_workload(const Scenario& scenario, Random random, Plan& plan) {
    const Duration usual = draw_usual_run(random);
    auto left = random.between(scenario.jobs_max / 5, scenario.jobs_max);
    while (left > 0) {
        const bool burst = random.chance(scenario.bursts);
        const auto size = std::min(left, burst ? random.between(5, 40) : random.between(1, 4));
        const Duration from = between(random, 0ms, plan.calm_at - 1s);
        const Duration window = random.chance(20) ? 0ms : between(random, 1ms, 2s);
        const PoolId pool{random.below(plan.settings.pools.size())};
        for (std::int64_t i = 0; i < size; ++i) {
            JobScript job{.pool = pool, .routed_to = pool};
            draw_body(scenario, random, job);
            draw_run(scenario, usual, random, job);
            draw_client(scenario, usual, random, job);
            if (random.chance(scenario.wanted)) job.lane_wanted = draw_wanted(plan, pool, random);
            job.is_aside = random.chance(scenario.asides);
            if (scenario.is_calm) job.is_aside = false, job.lane_wanted = LaneId{};
            if (plan.settings.pools.size() > 1 && job.total.count % 16 == 0)
                job.routed_to = PoolId{(pool.value + 1) % plan.settings.pools.size()};
            const Duration at =
                std::min(from + between(random, 0ms, window), plan.calm_at - quiet_before_calm);
            plan.stimuli.push_back({.at = at, .payload = job});
        }
        left -= size;
    }
}

}  // namespace turnpike::sim
