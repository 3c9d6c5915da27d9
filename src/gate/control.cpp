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
    return request.deps.engine.view(request.deps.clock.now());
}

std::string sentence_of_lanes(std::size_t count) {
    if (count == 0) return "There are no lanes.";
    return count == 1 ? "There is lane 0." : fmt::format("There are lanes 0 to {}.", count - 1);
}

std::expected<LaneId, Objection> lane_of(const OwnRequest& request) {
    const View view = view_of(request);
    const auto number = turnpike::lane_of(request.name, view.lanes.size());
    if (!number) return refuse(Problem::no_lane_of_that_name, sentence_of_lanes(view.lanes.size()));
    if (view.is_shutting_down) return refuse(Problem::shutting_down);
    return view.lanes[*number].lane;
}

struct PoolFound {
    PoolId pool;
    bool has_proof = false;
    std::vector<LaneId> lanes;
};

std::expected<PoolFound, Objection> pool_of(const OwnRequest& request) {
    const std::vector<PoolConfig>& pools = request.deps.config.pools;
    const auto found = std::ranges::find(pools, request.name, &PoolConfig::name);
    if (found == pools.end())
        return refuse(Problem::no_pool, fmt::format("The pools are: {}.", names_of(pools)));
    const View view = view_of(request);
    if (view.is_shutting_down) return refuse(Problem::shutting_down);
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

/// True for "accept=1", false for an empty query. Any other query is an error.
std::expected<bool, Objection> wants_accept(std::string_view query) {
    if (query.empty()) return false;
    if (query != "accept=1") return refuse(Problem::bad_query);
    return true;
}

std::expected<ReloadBegun, std::string> reload(const OwnRequest& request, PoolId pool,
                                               bool accept) {
    if (!request.deps.reload) return std::unexpected("This gate starts no workers.");
    return request.deps.reload(pool, {.files = {}, .accept = accept});
}

void append_reload(JsonWriter& json, std::string_view pool, const ReloadBegun& begun) {
    json.open_object();
    json.member("pool", pool);
    json.member("generation", begun.generation.value);
    json.member("kind", name_of(begun.kind));
    json.member("asked", "reload");
    json.close_object();
}

template <class Order>
OwnAnswered order_lane(const OwnRequest& request, std::string_view what) {
    const auto lane = lane_of(request);
    if (!lane) return Refused(lane.error());
    request.deps.order(Order{*lane});
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
    if (!request.deps.dump_stacks)
        return refuse(Problem::no_stacks, "This gate cannot dump stacks.");
    if (auto why_not = request.deps.dump_stacks(*lane))
        return refuse(Problem::no_stacks, std::move(*why_not));
    return asked_of_lane(*lane, "stacks");
}

OwnAnswered restart_pool(const OwnRequest& request) {
    const auto pool = pool_of(request);
    if (!pool) return Refused(pool.error());
    for (const LaneId lane : pool->lanes) request.deps.order(RestartAsked{lane});
    return asked_of_pool(request, *pool, "restart");
}

OwnAnswered reload_pool(const OwnRequest& request) {
    const auto pool = pool_of(request);
    if (!pool) return Refused(pool.error());
    const auto accept = wants_accept(request.query);
    if (!accept) return Refused(accept.error());
    const auto begun = reload(request, pool->pool, *accept);
    if (!begun) return refuse(Problem::no_reload, begun.error());
    OwnAnswer answer{.status = 202, .body = {}};
    JsonWriter json(answer.body);
    append_reload(json, request.name, *begun);
    answer.body += '\n';
    return answer;
}

OwnAnswered reload_all(const OwnRequest& request) {
    if (view_of(request).is_shutting_down) return refuse(Problem::shutting_down);
    const auto accept = wants_accept(request.query);
    if (!accept) return Refused(accept.error());
    const std::vector<PoolConfig>& pools = request.deps.config.pools;
    if (std::ranges::none_of(pools, &PoolConfig::is_started))
        return refuse(Problem::no_reload,
                      "Somebody else started all workers, so Turnpike cannot reload them.");
    OwnAnswer answer{.status = 202, .body = {}};
    JsonWriter json(answer.body);
    json.open_object();
    json.member("asked", "reload");
    json.key("pools"), json.open_array();
    for (std::size_t i = 0; i < pools.size(); ++i) {
        if (!pools[i].is_started()) continue;
        const auto begun = reload(request, PoolId{i}, *accept);
        if (!begun) return refuse(Problem::no_reload, begun.error());
        append_reload(json, pools[i].name, *begun);
    }
    json.close_array();
    json.close_object();
    answer.body += '\n';
    return answer;
}

OwnAnswered prove_pool(const OwnRequest& request) {
    const auto pool = pool_of(request);
    if (!pool) return Refused(pool.error());
    if (!pool->has_proof) return refuse(Problem::no_proof);
    request.deps.order(ProveAsked{pool->pool});
    return asked_of_pool(request, *pool, "prove");
}

}  // namespace turnpike::control
