#include "gate/own_routes.h"

#include <array>

#include "gate/control.h"
#include "gate/log_pages.h"
#include "gate/pages.h"
#include "gate/proof_page.h"

namespace turnpike {

namespace {

OwnAnswered healthz(const OwnRequest&) {
    return OwnAnswer{.content_type = "text/plain", .body = "ok\n"};
}

OwnAnswered readyz(const OwnRequest& request) {
    std::string lacking = pools_not_ready(request.deps);
    if (lacking.empty()) return OwnAnswer{.content_type = "text/plain", .body = "ready\n"};
    return OwnAnswer{.status = 503, .content_type = "text/plain", .body = std::move(lacking)};
}

OwnAnswered status(const OwnRequest& request) {
    return OwnAnswer{.body = status_page(request.deps, request.caller)};
}

OwnAnswered jobs(const OwnRequest& request) {
    return OwnAnswer{.body = jobs_page(request.deps, request.caller)};
}

/// Returns the record of the job with this name, or nullptr if there is none that the caller may
/// see.
const JobRecord* visible_job(const OwnRequest& request) {
    const auto id = request.deps.names.find(request.name);
    if (!id) return nullptr;
    const JobRecord* record = request.deps.find_live(*id);
    if (record == nullptr) record = request.deps.recent.find(*id);
    return record != nullptr && may_see(request.caller, *record) ? record : nullptr;
}

OwnAnswered job(const OwnRequest& request) {
    const JobRecord* record = visible_job(request);
    if (record == nullptr) return refuse(Problem::no_job);
    return OwnAnswer{.body = job_page(request.deps, *record, request.caller)};
}

OwnAnswered cancel(const OwnRequest& request) {
    const JobRecord* record = visible_job(request);
    if (record == nullptr) return refuse(Problem::no_job);
    const bool is_live = request.deps.is_live(record->job);
    if (is_live) request.deps.order(CancelAsked{record->job});
    return OwnAnswer{.status = is_live ? 202 : 200,
                     .body = is_live ? "{\"cancelled\":true}\n"
                                     : "{\"cancelled\":false,\"why\":\"it has ended\"}\n"};
}

OwnAnswered lane_log(const OwnRequest& request) {
    const auto lane = lane_of(request.name, request.deps.lanes.size());
    if (!lane) return refuse(Problem::no_lane_of_that_name);
    const auto wanted = wanted_lines(request.query);
    if (!wanted) return refuse(Problem::bad_query);
    return OwnAnswer{.body = lane_log_page(*lane, request.deps.log_of(*lane), *wanted)};
}

OwnAnswered crashes(const OwnRequest& request) {
    return OwnAnswer{.body = crashes_page(request.deps.crashes)};
}

OwnAnswered crash(const OwnRequest& request) {
    const RecentCrashes::Crash* found = request.deps.crashes.find(request.name);
    if (found == nullptr) return refuse(Problem::no_crash);
    return OwnAnswer{.body = found->page};
}

constexpr std::array routes{
    OwnRoute{http::Method::get, "/-/healthz", Rule::anybody, healthz},
    OwnRoute{http::Method::get, "/-/readyz", Rule::anybody, readyz},
    OwnRoute{http::Method::get, "/-/status", Rule::member, status},
    OwnRoute{http::Method::get, "/-/jobs", Rule::member, jobs},
    OwnRoute{http::Method::get, "/-/jobs/*", Rule::member, job},
    OwnRoute{http::Method::delete_, "/-/jobs/*", Rule::member, cancel},
    OwnRoute{http::Method::get, "/-/lanes/*/log", Rule::admin, lane_log},
    OwnRoute{http::Method::get, "/-/crashes", Rule::admin, crashes},
    OwnRoute{http::Method::get, "/-/crashes/*", Rule::admin, crash},
    OwnRoute{http::Method::post, "/-/lanes/*/restart", Rule::admin, control::restart_lane},
    OwnRoute{http::Method::post, "/-/lanes/*/drain", Rule::admin, control::drain_lane},
    OwnRoute{http::Method::post, "/-/lanes/*/resume", Rule::admin, control::resume_lane},
    OwnRoute{http::Method::post, "/-/lanes/*/stacks", Rule::admin, control::dump_stacks},
    OwnRoute{http::Method::post, "/-/pools/*/restart", Rule::admin, control::restart_pool},
    OwnRoute{http::Method::post, "/-/reload", Rule::admin, control::reload_all},
    OwnRoute{http::Method::post, "/-/pools/*/reload", Rule::admin, control::reload_pool},
    OwnRoute{http::Method::post, "/-/pools/*/prove", Rule::admin, control::prove_pool},
    OwnRoute{http::Method::get, "/-/pools/*/proof", Rule::admin, pool_proof},
};

/// Returns the part of the path that matches the star, or "" if the route has no star. Nullopt if
/// the path does not match the route.
std::optional<std::string_view> match(std::string_view route, std::string_view path) {
    const std::size_t star = route.find('*');
    if (star == std::string_view::npos)
        return route == path ? std::optional(std::string_view{}) : std::nullopt;
    const std::string_view before = route.substr(0, star);
    const std::string_view after = route.substr(star + 1);
    if (path.size() < route.size() || !path.starts_with(before) || !path.ends_with(after))
        return std::nullopt;
    const std::string_view name = path.substr(star, path.size() - before.size() - after.size());
    if (name.contains('/')) return std::nullopt;
    return name;
}

}  // namespace

std::span<const OwnRoute> own_routes() { return routes; }

FoundRoute find_route(http::Method method, std::string_view target) {
    const std::size_t mark = target.find('?');
    const std::string_view path = target.substr(0, mark);
    const http::Method wanted = method == http::Method::head ? http::Method::get : method;
    FoundRoute found;
    if (mark != std::string_view::npos) found.query = target.substr(mark + 1);
    for (const OwnRoute& route : routes) {
        const auto name = match(route.path, path);
        if (!name) continue;
        if (route.method == wanted)
            return {.route = &route, .name = *name, .query = found.query, .allow = {}};
        found.problem = Problem::method_not_allowed;
        found.allow += (found.allow.empty() ? "" : ", ") + std::string(http::name_of(route.method));
        if (route.method == http::Method::get) found.allow += ", HEAD";
    }
    return found;
}

}  // namespace turnpike
