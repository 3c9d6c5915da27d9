#include "gate/control.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "gate/log_pages.h"

namespace turnpike::control {

namespace {

using Refused = std::unexpected<Objection>;

View view_of(const OwnRequest& request) {
    return request.sights.engine.view(request.sights.clock.now());
}

std::string lanes_there_are(std::size_t count) {
    if (count == 0) return "There are no lanes.";
    return count == 1 ? "There is lane 0." : fmt::format("There are lanes 0 to {}.", count - 1);
}

std::string pools_there_are(const std::vector<PoolConfig>& pools) {
    std::string names;
    for (const PoolConfig& pool : pools) names += (names.empty() ? "" : ", ") + pool.name;
    return fmt::format("The pools are: {}.", names);
}

std::expected<LaneId, Objection> lane_of(const OwnRequest& request) {
    const View view = view_of(request);
    const auto number = turnpike::lane_of(request.name, view.lanes.size());
    if (!number) return refuse(Problem::no_lane_of_that_name, lanes_there_are(view.lanes.size()));
    if (view.shutting_down) return refuse(Problem::shutting_down);
    return view.lanes[*number].lane;
}

struct PoolFound {
    PoolId pool;
    bool has_proof = false;
    std::vector<LaneId> lanes;
};

std::expected<PoolFound, Objection> pool_of(const OwnRequest& request) {
    const std::vector<PoolConfig>& pools = request.sights.config.pools;
    const auto found = std::ranges::find(pools, request.name, &PoolConfig::name);
    if (found == pools.end()) return refuse(Problem::no_pool, pools_there_are(pools));
    const View view = view_of(request);
    if (view.shutting_down) return refuse(Problem::shutting_down);
    const auto number = static_cast<std::size_t>(found - pools.begin());
    PoolFound pool{.pool = PoolId{number}, .has_proof = view.pools[number].has_proof, .lanes = {}};
    for (const LaneView& lane : view.lanes)
        if (lane.pool == pool.pool) pool.lanes.push_back(lane.lane);
    return pool;
}

OwnAnswer asked_of_lane(LaneId lane, std::string_view what) {
    return {.status = 202,
            .body = fmt::format("{{\"lane\":{},\"asked\":\"{}\"}}\n", lane.value, what)};
}

OwnAnswer asked_of_pool(const OwnRequest& request, const PoolFound& pool, std::string_view what) {
    OwnAnswer answer{.status = 202, .body = {}};
    JsonWriter json(answer.body);
    json.open_object();
    json.member("pool", request.name);
    json.member("asked", what);
    json.key("lanes"), json.open_array();
    for (const LaneId lane : pool.lanes) json.value(lane.value);
    json.close_array();
    json.close_object();
    answer.body += '\n';
    return answer;
}

template <class Order>
OwnAnswered order_lane(const OwnRequest& request, std::string_view what) {
    const auto lane = lane_of(request);
    if (!lane) return Refused(lane.error());
    request.sights.order(Order{*lane});
    return asked_of_lane(*lane, what);
}

}  // namespace

OwnAnswered restart_lane(const OwnRequest& request) {
    return order_lane<RestartAsked>(request, "restart");
}

OwnAnswered drain_lane(const OwnRequest& request) {
    return order_lane<DrainAsked>(request, "drain");
}

OwnAnswered resume_lane(const OwnRequest& request) {
    return order_lane<ResumeAsked>(request, "resume");
}

OwnAnswered dump_stacks(const OwnRequest& request) {
    const auto lane = lane_of(request);
    if (!lane) return Refused(lane.error());
    if (!request.sights.stacks)
        return refuse(Problem::no_stacks, "This gate has no way to look into workers.");
    if (auto why_not = request.sights.stacks(*lane))
        return refuse(Problem::no_stacks, std::move(*why_not));
    return asked_of_lane(*lane, "stacks");
}

OwnAnswered restart_pool(const OwnRequest& request) {
    const auto pool = pool_of(request);
    if (!pool) return Refused(pool.error());
    for (const LaneId lane : pool->lanes) request.sights.order(RestartAsked{lane});
    return asked_of_pool(request, *pool, "restart");
}

OwnAnswered prove_pool(const OwnRequest& request) {
    const auto pool = pool_of(request);
    if (!pool) return Refused(pool.error());
    if (!pool->has_proof) return refuse(Problem::no_proof);
    request.sights.order(ProveAsked{pool->pool});
    return asked_of_pool(request, *pool, "prove");
}

}  // namespace turnpike::control
