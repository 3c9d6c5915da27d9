// Makes plans, and answers questions about one.
#include "sim/plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "sim/chance.h"

namespace turnpike::sim {

namespace {

std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0;
    for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
    return hash;
}

Duration draw_grain(Random& random) {
    const auto luck = random.below(10);
    if (luck < 4) return 1ms;
    if (luck < 6) return 50ms;
    return 1ns;
}

/// Stimuli of one instant keep the order in which they were drawn.
void number_by_time(std::vector<Stimulus>& stimuli) {
    for (std::uint32_t id = 0; Stimulus & stimulus : stimuli) stimulus.id = id++;
    std::ranges::sort(stimuli, [](const Stimulus& a, const Stimulus& b) {
        return std::pair(a.at, a.id) < std::pair(b.at, b.id);
    });
    for (std::uint32_t id = 0; Stimulus & stimulus : stimuli) stimulus.id = id++;
}

}  // namespace

Plan make_plan(const Scenario& scenario, std::uint64_t seed) {
    Plan plan{.scenario = scenario.name,
              .seed = mix(hash_of(scenario.name), seed),
              .is_calm = scenario.is_calm,
              .native = scenario.native};
    draw_settings(scenario, random_of(plan.seed, Topic::settings), plan);
    Random random = random_of(plan.seed, Topic::workload);
    plan.calm_at = 1s * random.between(10, 60);
    plan.grain = draw_grain(random);
    add_workload(scenario, random, plan);
    add_faults(scenario, random_of(plan.seed, Topic::faults), plan);
    number_by_time(plan.stimuli);
    return plan;
}

Plan with_only(Plan plan, std::span<const std::uint32_t> ids) {
    std::erase_if(plan.stimuli, [&](const Stimulus& stimulus) {
        return std::ranges::find(ids, stimulus.id) == ids.end();
    });
    return plan;
}

std::uint64_t Plan::lanes() const {
    std::uint64_t sum = 0;
    for (const PoolSettings& pool : settings.pools) sum += pool.lanes;
    return sum;
}

PoolId Plan::pool_of(LaneId lane) const {
    std::uint64_t first = 0;
    for (std::size_t index = 0; index < settings.pools.size(); ++index) {
        first += settings.pools[index].lanes;
        if (lane.value < first) return PoolId{index};
    }
    return PoolId{};
}

const PoolSettings& Plan::settings_of(LaneId lane) const {
    const PoolId pool = pool_of(lane);
    CHECK(!pool.is_none());
    return settings.pools[pool.value];
}

bool Plan::is_native(LaneId lane) const {
    return settings_of(lane).ownership == Ownership::owned &&
           random_of(seed, Topic::native, pool_of(lane).value).chance(native);
}

bool Plan::has_shutdown() const {
    return std::ranges::any_of(stimuli, [](const Stimulus& stimulus) {
        return std::holds_alternative<Shutdown>(stimulus.payload);
    });
}

Quality Plan::quality_of(Generation generation) const {
    for (const Stimulus& stimulus : stimuli) {
        const auto* reload = std::get_if<Reload>(&stimulus.payload);
        if (reload != nullptr && generation_of(stimulus.id) == generation) return reload->quality;
    }
    return Quality::good;
}

Duration Plan::patience() const {
    Duration sum = 10min;
    for (const PoolSettings& pool : settings.pools) {
        sum += 4 * (pool.queue_wait_max + pool.job_timeout + pool.cancel_grace);
        sum += 4 * (pool.stop_grace + pool.kill_patience + pool.crash_window);
        sum += 4 * (pool.abandon_after + pool.revive_every);
        sum += 4 * pool.lanes * (pool.load_timeout + pool.proof_timeout + pool.proof_every);
        sum += 4 * pool.crash_limit * pool.restart_delay_max;
    }
    return sum;
}

}  // namespace turnpike::sim
