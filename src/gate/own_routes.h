// Turnpike's own routes, under /-/. One table has a row for each route and method: who may use it,
// and the function that answers.
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
#include "gate/clients_page.h"
#include "gate/job_name.h"
#include "gate/lost_answers.h"
#include "gate/problem.h"
#include "gate/refusals.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/pool_facts.h"
#include "telemetry/recent_crashes.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

/// What the own routes read and what they can order.
struct OwnRouteDeps {
    const Config& config;
    const Engine& engine;
    const RecentJobs& recent;
    const Refusals& refusals;
    const Exchanges& exchanges;  // the bytes of live jobs
    const LostAnswers& losses;
    const std::vector<LaneFacts>& lanes;
    const RecentCrashes& crashes;
    std::function<const LaneLog*(std::size_t)> log_of;  // by lane; nullptr if it has no log
    const JobNames& names;
    Clock& clock;
    Instant started;
    std::string address;  // where clients reach the gate
    /// Returns nullptr if the job has ended and its client has read the answer.
    std::function<const JobRecord*(JobId)> find_live;
    std::function<bool(JobId)> is_live;  // false once the job has ended
    std::function<void(const std::function<void(const JobRecord&)>&)> for_each_live;
    std::function<void(const Event&)> order;  // passes on what a client asked for
    std::function<std::vector<ClientFigures>()> clients = nullptr;
    /// Starts dumping the stacks of a lane's worker to the lane's log. Returns an error message if
    /// it cannot.
    std::function<std::optional<std::string>(LaneId)> dump_stacks = nullptr;
    std::function<bool()> needs_keys = nullptr;  // true if requests without a key are refused
    /// Returns the latest reload of a pool, or nullptr if there was none.
    std::function<const ReloadFacts*(PoolId)> reload_of = nullptr;
    /// Starts a reload of a pool. The error says why it cannot.
    std::function<std::expected<ReloadBegun, std::string>(PoolId, ReloadOrder)> reload = nullptr;
};

struct OwnRequest {
    const OwnRouteDeps& deps;
    const Caller& caller;
    std::string_view name;   // the part of the path that matched *
    std::string_view query;  // the part after the ?
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
    std::string_view path;  // a part that is * matches any name
    Rule rule;
    OwnAnswered (*answer)(const OwnRequest&);
};

struct FoundRoute {
    const OwnRoute* route = nullptr;  // nullptr if there is none; then `problem` says why
    std::string_view name;
    std::string_view query;
    Problem problem = Problem::no_route;
    std::string allow;  // the value of Allow, with method_not_allowed
};

std::span<const OwnRoute> own_routes();

/// Finds the route for a request. HEAD finds the route of GET.
FoundRoute find_route(http::Method method, std::string_view target);

inline bool is_own(std::string_view target) {
    return target.starts_with("/-/") && !target.starts_with("/-/to/");
}

}  // namespace turnpike
