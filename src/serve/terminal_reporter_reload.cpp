// The lines of `up` about reloads: when a reload begins, why, and how it ends. What happens to the
// pool's lanes in between is not printed.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/span_text.h"
#include "serve/lane_lines.h"
#include "serve/terminal_reporter.h"
#include "telemetry/start_phases.h"
#include "terminal/reload_text.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

std::string time_text(const ReloadFacts& reload) { return span_text(reload.ended - reload.began); }

Duration time_of(const StartTimes& start) {
    Duration sum{};
    for (const StartPhase& phase : phases_until_serving)
        sum += (start.*phase.time).value_or(Duration::zero());
    return sum;
}

std::string lanes_text(const std::vector<std::size_t>& lanes) {
    return fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", ranges_text(lanes));
}

}  // namespace

void TerminalReporter::follow_reloads(const std::vector<PoolFacts>& pools) {
    pools_ = &pools;
    reported_reloads_.resize(pools.size());
}

std::vector<std::size_t> TerminalReporter::lanes_of(std::size_t pool) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < pool; ++i) first += config_.pools[i].settings.lanes;
    std::vector<std::size_t> lanes;
    for (std::size_t i = 0; i < config_.pools[pool].settings.lanes; ++i) lanes.push_back(first + i);
    return lanes;
}

bool TerminalReporter::is_reloading(std::size_t lane) const {
    if (pools_ == nullptr) return false;
    std::size_t pool = 0;
    while (lanes_of(pool).back() < lane) ++pool;
    return reported_reloads_[pool].begun != reported_reloads_[pool].ended;
}

void TerminalReporter::report_reloads() {
    if (pools_ == nullptr) return;
    for (std::size_t pool = 0; pool < pools_->size(); ++pool) {
        const auto& reload = (*pools_)[pool].reload;
        ReportedReloads& said = reported_reloads_[pool];
        if (!reload || said.ended == reload->generation) continue;
        if (said.begun != reload->generation) say_reload_begun(pool);
        said.begun = reload->generation;
        if (reload->ended == never) continue;
        said.ended = reload->generation;
        say_reload_ended(pool);
    }
}

void TerminalReporter::say_reload_begun(std::size_t pool) const {
    const ReloadFacts& reload = *(*pools_)[pool].reload;
    say(fmt::format("pool {}: reload {} ({}), {}", config_.pools[pool].name,
                    reload.generation.value, sanitized(cause_text(reload.order)),
                    reload.kind == ReloadKind::beside ? "beside the old code" : "in place"));
}

/// The lanes start together, so the times of the slowest lane show what to speed up.
void TerminalReporter::say_reload_ended(std::size_t pool) {
    const PoolConfig& config = config_.pools[pool];
    const ReloadFacts& reload = *(*pools_)[pool].reload;
    std::vector<std::size_t> lanes = lanes_of(pool);
    const auto is_out = [this](std::size_t lane) { return !is_serving(statuses_[lane].state); };
    const bool is_served = !std::ranges::all_of(lanes, is_out);
    // Lanes that are off, or failed during the reload, get lines of their own.
    if (reload.end == ReloadEnd::spread && is_served) std::erase_if(lanes, is_out);
    const StartTimes* slowest = nullptr;
    for (const std::size_t lane : lanes) {
        const StartTimes& start = lanes_[lane].now.start;
        if (slowest == nullptr || time_of(*slowest) < time_of(start)) slowest = &start;
        starts_[lane].reported = start_of(lane);
        reported_[lane] = statuses_[lane];
    }
    const std::string head =
        fmt::format("pool {}: reload {}", config.name, reload.generation.value);
    if (reload.end == ReloadEnd::spread)
        return say(fmt::format("{}: {} on the new code after {}{}", head, lanes_text(lanes),
                               time_text(reload), breakdown_of(*slowest)));
    if (reload.end != ReloadEnd::abandoned) return;
    const std::string next =
        config.worker.watch ? "fix the file and save again" : "fix it, then: " + command("reload");
    say(fmt::format("{} failed after {}:\n{}turnpike: {}: {}", head, time_text(reload),
                    indented(reload.trouble),
                    is_served ? "the old code keeps serving" : "no lane serves", next));
}

}  // namespace turnpike
