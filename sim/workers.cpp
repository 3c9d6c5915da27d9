// How workers start, load, stop and die.
#include "sim/workers.h"

#include <algorithm>

#include <fmt/format.h>

namespace turnpike::sim {

Workers::Workers(Stage& stage, const Clients& clients)
    : stage_(stage), clients_(clients), starts_(stage.plan().lanes()) {}

Workers::Worker* Workers::find(WorkerId id) {
    const auto worker = workers_.find(id);
    return worker == workers_.end() ? nullptr : &worker->second;
}

/// Returns the worker if it can still send events, or nullptr.
Workers::Worker* Workers::find_living(WorkerId id) {
    Worker* worker = find(id);
    return worker != nullptr && worker->life != Life::exited && !worker->has_survived_kill
               ? worker
               : nullptr;
}

Workers::Worker* Workers::newest_on(LaneId lane) {
    Worker* newest = nullptr;
    for (auto& [id, worker] : workers_) {
        if (worker.lane != lane || find_living(id) == nullptr) continue;
        if (newest == nullptr || worker.key > newest->key) newest = &worker;
    }
    return newest;
}

bool Workers::is_attached(const Worker& worker) const {
    return stage_.plan().settings_of(worker.lane).ownership == Ownership::attached;
}

bool Workers::is_cursed(const Worker& worker, CurseKind kind, std::uint64_t which) const {
    return stage_.curses().strikes(worker.lane, kind, stage_.now(), mix(worker.key, which));
}

void Workers::after(Duration wait, const Worker& worker, void (Workers::*step)(WorkerId)) {
    stage_.after(wait, worker.key, [this, id = worker.id, step] { (this->*step)(id); });
}

void Workers::carry_out(const StartWorker& action) {
    if (action.lane.value >= starts_.size() || find(action.worker) != nullptr)
        return stage_.complain("actions make sense",
                               fmt::format("StartWorker {}", action.worker.value));
    Worker& worker = workers_[action.worker];
    worker = {.id = action.worker, .lane = action.lane, .generation = action.generation};
    worker.key = (action.lane.value << 32) | ++starts_[action.lane.value];
    Random luck = stage_.random(Topic::start, worker.key);
    after(between(luck, 0ms, 60ms), worker, &Workers::begin_load);
}

void Workers::begin_load(WorkerId id) {
    Worker* worker = find_living(id);
    if (worker == nullptr || worker->life != Life::coming) return;
    Random luck = stage_.random(Topic::load, worker->key);
    const bool says_so = !luck.chance(5);
    if (is_attached(*worker)) {
        if (says_so) stage_.tell(WorkerStarted{id});
        return await_outside(id);
    }
    if (is_cursed(*worker, CurseKind::gate_is_short)) {
        worker->cause = ExitCause::shortage;
        return exit(id);
    }
    if (is_cursed(*worker, CurseKind::start_fails) || is_cursed(*worker, CurseKind::gpu_gone))
        return exit(id);
    if (says_so) stage_.tell(WorkerStarted{id});
    const auto steps = static_cast<std::uint32_t>(luck.below(5));
    load(id, is_cursed(*worker, CurseKind::load_slow) ? 6 + steps : steps);
}

void Workers::load(WorkerId id, std::uint32_t steps_left) {
    Worker* worker = find_living(id);
    if (worker == nullptr || worker->life != Life::coming) return;
    const Quality quality = stage_.plan().quality_of(worker->generation);
    if (quality == Quality::silent_load || is_cursed(*worker, CurseKind::load_silent)) return;
    if (is_cursed(*worker, CurseKind::load_exits, steps_left)) return exit(id);
    if (steps_left == 0) return quality == Quality::unloadable ? exit(id) : become_ready(id);
    Random luck = stage_.random(Topic::load, worker->key, steps_left);
    const Duration longest = stage_.plan().settings_of(worker->lane).load_timeout * 9 / 10;
    const Duration gap =
        is_cursed(*worker, CurseKind::load_slow) ? longest : between(luck, 1ms, 400ms);
    const std::uint64_t key = worker->key;
    stage_.tell(LoadProgressed{id});
    stage_.after(std::min(gap, longest), key, [this, id, steps_left] { load(id, steps_left - 1); });
}

/// Waits until no curse keeps the attached worker away. Then makes the worker ready.
void Workers::await_outside(WorkerId id) {
    Worker* worker = find_living(id);
    if (worker == nullptr || worker->life != Life::coming) return;
    if (const Curses::Period* away =
            stage_.curses().find(worker->lane, CurseKind::away, stage_.now(), 0))
        return after(away->until - stage_.now(), *worker, &Workers::await_outside);
    Random luck = stage_.random(Topic::outside, worker->key);
    after(between(luck, 1ms, 300ms), *worker, &Workers::become_ready);
}

void Workers::become_ready(WorkerId id) {
    Worker* worker = find_living(id);
    if (worker == nullptr || worker->life != Life::coming) return;
    if (is_attached(*worker) &&
        stage_.curses().strikes(worker->lane, CurseKind::away, stage_.now(), 0))
        return await_outside(id);
    worker->life = Life::up;
    const bool crashes = stage_.plan().quality_of(worker->generation) == Quality::crashes;
    if (crashes && stage_.now() < stage_.calm_at()) {
        Random luck = stage_.random(Topic::crash, worker->key);
        after(between(luck, 1ms, 2s), *worker, &Workers::exit);
    }
    stage_.tell(ready_event_of(*worker));
}

/// Returns what the worker says of itself when it is ready. Native workers of one generation mostly
/// say the same.
WorkerReady Workers::ready_event_of(const Worker& worker) const {
    WorkerReady event{.worker = worker.id};
    if (!stage_.plan().is_native(worker.lane)) return event;
    const std::uint64_t pool = stage_.plan().pool_of(worker.lane).value;
    Random common = stage_.random(Topic::native, pool, worker.generation.value);
    Random own = stage_.random(Topic::native, worker.key, worker.generation.value);
    // Code that fails its proof must not become good because one of its workers has no example.
    const bool may_differ = stage_.plan().quality_of(worker.generation) != Quality::wrong_proof;
    event.has_example = common.chance(65);
    if (may_differ && own.chance(8)) event.has_example = !event.has_example;
    Random& luck = own.chance(15) ? own : common;
    if (luck.chance(80)) event.slots = static_cast<std::uint32_t>(luck.between(1, 3));
    if (luck.chance(80)) event.batch = static_cast<std::uint32_t>(luck.between(1, 5));
    if (own.chance(2)) event.slots = 70'000;  // a real shell would reject this
    if (own.chance(2)) event.batch = ~std::uint32_t{0};
    return event;
}

void Workers::carry_out(const StopWorker& action) {
    const Worker* worker = find(action.worker);
    if (worker == nullptr)
        return stage_.complain("actions make sense",
                               fmt::format("StopWorker {}", action.worker.value));
    if (worker->is_dumping_core) return;  // it exits by itself
    if (!is_attached(*worker) && is_cursed(*worker, CurseKind::ignores_stop)) return;
    Random luck = stage_.random(Topic::stop, worker->key);
    if (!is_attached(*worker) && is_blocked(*worker) && luck.chance(50)) return;
    after(between(luck, 0ms,
                  is_attached(*worker) ? 2ms
                  : luck.chance(10)    ? 3s
                                       : 200ms),
          *worker, &Workers::exit);
}

void Workers::carry_out(const KillWorker& action) {
    Worker* worker = find(action.worker);
    if (worker == nullptr)
        return stage_.complain("actions make sense",
                               fmt::format("KillWorker {}", action.worker.value));
    if (worker->is_killed) return;
    worker->is_killed = true;
    Random luck = stage_.random(Topic::kill, worker->key);
    const Duration soon = between(luck, 0ms, is_attached(*worker) ? 0ms : 15ms);
    if (worker->life == Life::exited) {
        if (worker->has_left_a_child) after(soon, *worker, &Workers::report_gone);
        return;
    }
    if (is_attached(*worker) || !is_cursed(*worker, CurseKind::survives_kill))
        return after(soon, *worker, &Workers::exit);
    worker->has_survived_kill = true;
    const Duration lasts = survives_kill_for(*worker);
    if (lasts != Duration::max()) after(lasts, *worker, &Workers::exit);
}

/// Returns how long the worker survives its kill: for some time, until the curse ends, or (like a
/// process that hangs in the kernel) until the operator heals the machine.
Duration Workers::survives_kill_for(const Worker& worker) const {
    Random luck = stage_.random(Topic::kill, worker.key, 1);
    if (luck.chance(30)) return between(luck, 20ms, 5s);
    if (luck.chance(40)) return Duration::max();
    const Curses::Period* period = stage_.curses().find(worker.lane, CurseKind::survives_kill,
                                                        stage_.now(), mix(worker.key, 0));
    return period == nullptr ? 0ms : period->until - stage_.now();
}

void Workers::exit(WorkerId id) {
    Worker* worker = find(id);
    if (worker == nullptr || worker->life == Life::exited) return;
    worker->life = Life::exited;
    answer_after_death(*worker);
    worker->aboard.clear();
    Random luck = stage_.random(Topic::gone, worker->key);
    worker->has_left_a_child = !worker->is_killed && !is_attached(*worker) && luck.chance(25);
    const Duration soon = between(luck, 0ms, luck.chance(80) ? 5ms : 200ms);
    const bool tree_dies = !worker->has_left_a_child;
    const std::uint64_t key = worker->key;
    stage_.tell(WorkerExited{id, worker->cause});
    if (tree_dies) stage_.after(soon, key, [this, id] { report_gone(id); });
}

void Workers::report_gone(WorkerId id) {
    const Worker* worker = find(id);
    if (worker == nullptr) return;
    const LaneId lane = worker->lane;
    const std::uint64_t key = worker->key;
    const Curses::Period* held =
        is_attached(*worker)
            ? nullptr
            : stage_.curses().find(lane, CurseKind::memory_held, stage_.now(), mix(key, 0));
    Random luck = stage_.random(Topic::memory, key);
    const Duration some = between(luck, 1ms, 5s);
    workers_.erase(id);
    if (held == nullptr) return stage_.tell(WorkerGone{.worker = id, .memory = Memory::freed});
    const Duration lasts =
        luck.chance(50) ? held->until - stage_.now() : std::min(some, held->until - stage_.now());
    stage_.after(lasts, key, [this, lane] { stage_.tell(MemoryFreed{lane}); });
    stage_.tell(WorkerGone{.worker = id, .memory = Memory::held});
}

void Workers::begin(const Curse& curse) {
    Worker* worker = newest_on(curse.lane);
    const bool is_attached_lane =
        stage_.plan().settings_of(curse.lane).ownership == Ownership::attached;
    if (curse.kind == CurseKind::gpu_gone && !is_attached_lane) stage_.tell(GpuLost{curse.lane});
    if (curse.kind == CurseKind::away && is_attached_lane && worker != nullptr &&
        worker->life == Life::up)
        exit(worker->id);
}

void Workers::strike(const Blow& blow) {
    const PoolId pool = stage_.plan().pool_of(blow.lane);
    if (blow.kind == BlowKind::memory_freed) return stage_.tell(MemoryFreed{blow.lane});
    for (std::uint64_t index = 0; index < starts_.size(); ++index) {
        const LaneId lane{index};
        const bool is_hit = blow.kind == BlowKind::crash_pool ? stage_.plan().pool_of(lane) == pool
                                                              : lane == blow.lane;
        const Worker* worker = is_hit ? newest_on(lane) : nullptr;
        if (worker == nullptr) continue;
        if (blow.kind == BlowKind::misbehave)
            stage_.tell(WorkerMisbehaved{worker->id});
        else
            exit(worker->id);
    }
}

void Workers::end_kill_survivors() {
    std::vector<WorkerId> survivors;
    for (const auto& [id, worker] : workers_)
        if (worker.has_survived_kill) survivors.push_back(id);
    for (const WorkerId id : survivors) exit(id);
}

}  // namespace turnpike::sim
