#include "telemetry/pool_facts.h"

#include <algorithm>

#include "telemetry/lane_facts.h"

namespace turnpike {
namespace {

std::string_view last_part(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

}  // namespace

std::string_view name_of(ReloadState state) {
    switch (state) {
        case ReloadState::waiting: return "waiting";
        case ReloadState::trying: return "trying";
        case ReloadState::spreading: return "spreading";
        case ReloadState::done: return "done";
        case ReloadState::abandoned: return "abandoned";
        case ReloadState::superseded: return "superseded";
    }
    return "";
}

ReloadState state_of(const ReloadFacts& facts, const PoolView& pool) {
    if (facts.ended == never) {
        if (pool.good == facts.generation) return ReloadState::spreading;
        return pool.reloading == facts.generation ? ReloadState::trying : ReloadState::waiting;
    }
    if (facts.end == ReloadEnd::spread) return ReloadState::done;
    return facts.end == ReloadEnd::abandoned ? ReloadState::abandoned : ReloadState::superseded;
}

std::string cause_text(const ReloadOrder& order) {
    constexpr std::size_t named_max = 2;
    if (order.files.empty()) return "asked for";
    std::string names;
    const std::size_t named = std::min(order.files.size(), named_max);
    for (std::size_t i = 0; i < named; ++i)
        names.append(i == 0 ? "" : ", ").append(last_part(order.files[i]));
    if (order.files.size() > named)
        names += " and " + std::to_string(order.files.size() - named) + " more";
    return names + " changed";
}

LanesSwitched lanes_switched(const ReloadFacts& facts, const View& view, PoolId pool) {
    LanesSwitched count;
    for (const LaneView& lane : view.lanes) {
        const bool is_on = lane.state != LaneState::drained && lane.state != LaneState::failed &&
                           lane.state != LaneState::quarantined;
        if (lane.pool != pool || !is_on) continue;
        ++count.all;
        if (is_serving(lane.state) && lane.generation == facts.generation) ++count.switched;
    }
    return count;
}

}  // namespace turnpike
