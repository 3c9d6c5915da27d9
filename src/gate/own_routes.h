// Turnpike's own routes, everything under /-/: one table, in which each method of each route has its
// rule, and what it answers.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/engine.h"
#include "core/event.h"
#include "gate/access.h"
#include "gate/arrival.h"
#include "gate/job_name.h"
#include "gate/problem.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/crash_shelf.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/pool_facts.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

/// What the pages show.
struct OwnRouteDeps {
    const Config& config;
    const Engine& engine;
    const RecentJobs& recent;
    const Exchanges& exchanges;  // of live jobs
    const std::vector<LaneFacts>& lanes;
    const CrashShelf& crashes;
    std::function<const LaneLog*(std::size_t)> log_of;  // of a lane; nullptr: it keeps none
    const JobNames& names;
    Clock& clock;
    Instant started;
    std::string address;                               // where clients come in
    std::function<const JobRecord*(JobId)> find_live;  // of a job under way
    std::function<void(const std::function<void(const JobRecord&)>&)> for_each_live;
    std::function<void(const Event&)> order;  // what somebody asked for
    /// Starts a dump of a lane's stacks, which goes to its log; a string says why not.
    std::function<std::optional<std::string>(LaneId)> dump_stacks = nullptr;
    /// The latest reload of a pool; nullptr: there was none.
    std::function<const ReloadFacts*(PoolId)> reload_of = nullptr;
    /// Asks for another one. An error says why that can't be.
    std::function<std::expected<ReloadBegun, std::string>(PoolId, ReloadOrder)> reload = nullptr;
};

struct OwnRequest {
    const OwnRouteDeps& deps;
    const Caller& caller;
    std::string_view name;   // what stands for * in the route
    std::string_view query;  // after the ?
};

struct OwnAnswer {
    int status = 200;
    std::string_view content_type = "application/json";
    std::string body;
};

using OwnAnswered = std::expected<OwnAnswer, Objection>;

inline std::unexpected<Objection> refuse(Problem problem, std::string detail = {}) {
    return std::unexpected(Objection{problem, std::move(detail)});
}

struct OwnRoute {
    http::Method method;
    std::string_view path;  // a part of * stands for one name
    Rule rule;
    OwnAnswered (*answer)(const OwnRequest&);
};

struct FoundRoute {
    const OwnRoute* route = nullptr;  // nullptr: see `problem`
    std::string_view name;
    std::string_view query;
    Problem problem = Problem::no_route;
    std::string allow;  // with method_not_allowed
};

/// All of them, for tests and for the search below.
std::span<const OwnRoute> own_routes();

/// HEAD finds what GET finds.
FoundRoute find_route(http::Method method, std::string_view target);

inline bool is_own(std::string_view target) {
    return target.starts_with("/-/") && !target.starts_with("/-/to/");
}

}  // namespace turnpike
