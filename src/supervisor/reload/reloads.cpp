#include "supervisor/reload/reloads.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "supervisor/reload/traceback.h"

namespace turnpike {
namespace {

/// True if a second worker fits on this GPU: all the memory in use would fit into the free memory
/// once more, with a tenth to spare. If other programs use some of the memory, the answer is too
/// cautious, but never too optimistic.
bool has_room(const GpuFacts& gpu) {
    if (!gpu.memory_used || *gpu.memory_used > gpu.memory_total) return false;
    const std::uint64_t used = gpu.memory_used->count;
    const std::uint64_t free = gpu.memory_total.count - used;
    return used <= free - free / 10;
}

}  // namespace

ReloadKind reload_kind(const PoolConfig& pool, const std::vector<const LaneFacts*>& lanes) {
    if (pool.worker.reload == ReloadChoice::beside) return ReloadKind::beside;
    if (pool.worker.reload == ReloadChoice::in_place || !pool.is_native())
        return ReloadKind::in_place;
    const bool fits = std::ranges::all_of(
        lanes, [](const LaneFacts* lane) { return std::ranges::all_of(lane->gpus, has_room); });
    return fits ? ReloadKind::beside : ReloadKind::in_place;
}

Reloads::Reloads(ReloadDeps deps) : deps_(std::move(deps)), states_(deps_.lanes.size()) {
    for (std::size_t i = 0; i < deps_.config.size(); ++i) {
        Pool& pool = pools_.emplace_back();
        if (!deps_.config[i].worker.watch) continue;
        pool.watch = std::make_unique<SourceWatch>(
            SourceWatchDeps{.loop = deps_.loop,
                            .disk = deps_.disk,
                            .model = deps_.config[i].worker.model,
                            .changed = [this, i](std::vector<std::string> files) {
                                std::ignore = ask(i, {.files = std::move(files)});
                            }});
        pool.watch->follow({.good = deps_.generations.folder(i, pool.good), .newest = {}});
    }
}

std::vector<const LaneFacts*> Reloads::lanes_of(std::size_t pool) const {
    std::vector<const LaneFacts*> lanes;
    for (std::size_t lane = 0; lane < deps_.lanes.size(); ++lane)
        if (deps_.pool_of[lane] == pool) lanes.push_back(&deps_.lanes[lane]);
    return lanes;
}

std::expected<ReloadBegun, std::string> Reloads::ask(std::size_t pool, ReloadOrder order) {
    const PoolConfig& config = deps_.config[pool];
    if (!config.is_started())
        return std::unexpected(fmt::format(
            "Turnpike did not start the workers of the pool {}, so it can't reload them. "
            "Restart them where they run.",
            config.name));
    const ReloadBegun begun{.generation = deps_.generations.next(pool),
                            .kind = reload_kind(config, lanes_of(pool))};
    deps_.pools[pool].reload = {.generation = begun.generation,
                                .kind = begun.kind,
                                .order = std::move(order),
                                .began = deps_.clock.now(),
                                .trouble = {}};
    Pool& own = pools_[pool];
    own.tried.clear();
    own.is_spread = false;
    if (own.watch)
        own.watch->follow({.good = deps_.generations.folder(pool, own.good),
                           .newest = deps_.generations.folder(pool, begun.generation)});
    if (deps_.pools[pool].reload->order.accept) deps_.accepted(PoolId{pool}, begun.generation);
    deps_.deliver(
        ReloadAsked{.pool = PoolId{pool}, .generation = begun.generation, .kind = begun.kind});
    return begun;
}

void Reloads::observe(const StartWorker& start) {
    const std::size_t pool = deps_.pool_of[start.lane.value];
    const auto& reload = deps_.pools[pool].reload;
    if (reload && reload->generation == start.generation)
        pools_[pool].tried.push_back({.lane = start.lane.value, .worker = start.worker});
}

/// Returns the trouble of the first worker that has one, since the other lanes mostly have the
/// same.
std::string Reloads::trouble_of(std::size_t pool) const {
    for (const auto& [lane, worker] : pools_[pool].tried) {
        const WorkerFacts& facts = deps_.lanes[lane].of(worker);
        if (facts.id != worker || facts.trouble.is_none()) continue;
        if (facts.proof.by == ProofBy::recording && !facts.proof.is_passed)
            return text_of(facts.trouble) + "\nif this answer is right: turnpike reload --accept";
        const LaneLog* log = deps_.log_of(lane);
        const std::string error = log == nullptr ? "" : last_error(*log, worker.value);
        const std::string_view last = std::string_view(error).substr(error.find_last_of('\n') + 1);
        if (error.empty()) return text_of(facts.trouble);
        return facts.trouble.said.ends_with(last) ? error : text_of(facts.trouble) + '\n' + error;
    }
    return "no lane could try the new code";
}

bool Reloads::is_up(std::size_t pool) const {
    for (std::size_t lane = 0; lane < states_.size(); ++lane) {
        const LaneState state = states_[lane];
        const bool is_off = state == LaneState::drained || state == LaneState::failed ||
                            state == LaneState::quarantined;
        if (deps_.pool_of[lane] == pool && !is_off && !is_serving(state)) return false;
    }
    return true;
}

void Reloads::observe(const ReportLane& report) {
    states_[report.lane.value] = report.state;
    const std::size_t pool = deps_.pool_of[report.lane.value];
    if (pools_[pool].is_spread && is_up(pool)) finish(pool, ReloadEnd::spread);
}

/// In a reload in place, the last lanes are still coming up when the engine reports the end, so the
/// reload is finished only when all lanes are up.
void Reloads::observe(const ReportReload& report) {
    const std::size_t pool = report.pool.value;
    if (report.end == ReloadEnd::spread) pools_[pool].good = report.generation;
    const auto& reload = deps_.pools[pool].reload;
    if (!reload || reload->generation != report.generation) return;
    pools_[pool].is_spread = report.end == ReloadEnd::spread;
    if (report.end != ReloadEnd::spread || is_up(pool)) finish(pool, report.end);
}

void Reloads::finish(std::size_t number, ReloadEnd end) {
    Pool& pool = pools_[number];
    pool.is_spread = false;
    ReloadFacts& reload = *deps_.pools[number].reload;
    reload.ended = deps_.clock.now();
    reload.end = end;
    const bool is_bad = end == ReloadEnd::abandoned;
    if (is_bad) reload.trouble = trouble_of(number);
    if (!pool.watch) return;
    pool.watch->follow({.good = deps_.generations.folder(number, pool.good),
                        .newest = {},
                        .suspects = files_in_traceback(reload.trouble),
                        .is_bad = is_bad});
}

void Reloads::look() {
    for (std::size_t i = 0; i < pools_.size(); ++i)
        if (pools_[i].watch) pools_[i].watch->look();
}

std::string Reloads::watch_news() {
    std::string text;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        if (!pools_[i].watch || !is_up(i)) continue;  // workers may still be importing
        const std::size_t count = pools_[i].watch->news();
        if (count == 0) continue;
        text +=
            fmt::format("{}pool {}: watches {} file{}: a save reloads it", text.empty() ? "" : "; ",
                        deps_.config[i].name, count, count == 1 ? "" : "s");
    }
    return text;
}

std::string Reloads::watch_problem() const {
    for (const Pool& pool : pools_)
        if (pool.watch && !pool.watch->problem().empty()) return pool.watch->problem();
    return {};
}

}  // namespace turnpike
