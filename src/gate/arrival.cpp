#include "gate/arrival.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "http/fields.h"
#include "http/forwarded.h"
#include "http/write.h"

namespace turnpike {

namespace {

constexpr std::string_view pool_prefix = "/-/to/";
constexpr std::string_view own_field_prefix = "turnpike-";

std::expected<std::uint64_t, Objection> number_in(const http::Field& field, std::uint64_t most) {
    std::uint64_t number = 0;
    const char* const end = field.value.data() + field.value.size();
    const auto read = std::from_chars(field.value.data(), end, number);
    if (read.ec == std::errc{} && read.ptr == end && number <= most) return number;
    return std::unexpected(
        Objection{Problem::bad_header, fmt::format("{} must be a number from 0 to {}, not \"{}\".",
                                                   field.name, most, field.value)});
}

std::expected<void, Objection> read_own_field(const http::Field& field, Arrival& arrival) {
    const std::string_view name = field.name.substr(own_field_prefix.size());
    if (http::is_named(name, "priority")) {
        const auto level = number_in(field, Priority::levels - 1);
        if (!level) return std::unexpected(level.error());
        arrival.priority.level = static_cast<std::uint8_t>(*level);
    } else if (http::is_named(name, "lane")) {
        const auto lane = number_in(field, 1'000'000);
        if (!lane) return std::unexpected(lane.error());
        arrival.lane_wanted = LaneId{*lane};
    } else if (http::is_named(name, "timeout")) {
        const auto timeout = parse_duration(field.value);
        if (!timeout || *timeout <= Duration::zero())
            return std::unexpected(
                Objection{Problem::bad_header,
                          fmt::format("{} must be a duration such as 30s, 500ms or 5m, not \"{}\".",
                                      field.name, field.value)});
        arrival.timeout = *timeout;
    }
    return {};
}

bool is_own_field(std::string_view name) { return http::has_name_prefix(name, own_field_prefix); }

/// True if a worker may take the field for another one: CGI and WSGI read X_Forwarded_For and
/// X-Forwarded-For as the same name.
bool is_ambiguous(std::string_view name) { return name.contains('_'); }

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

bool is_json(const http::RequestHead& head) {
    const http::Field* type = http::find(head.fields, "content-type");
    if (type == nullptr || head.framing == http::Framing::none) return false;
    return http::is_named(http::media_type(type->value), "application/json");
}

}  // namespace

Objection objection_to(http::Fault fault) {
    Problem problem = Problem::malformed;
    switch (http::status_of(fault)) {
        case 405: problem = Problem::method_not_allowed; break;
        case 414: problem = Problem::target_too_long; break;
        case 417: problem = Problem::bad_expectation; break;
        case 431: problem = Problem::head_too_large; break;
        case 501: problem = Problem::unsupported; break;
        case 505: problem = Problem::unsupported_version; break;
        default: break;
    }
    return {problem, std::string(http::sentence_of(fault))};
}

std::string names_of(const std::vector<PoolConfig>& pools) {
    std::string names;
    for (const PoolConfig& pool : pools) names += (names.empty() ? "" : ", ") + pool.name;
    return names;
}

RequestRouter::RequestRouter(const std::vector<PoolConfig>& pools) : pools_(pools) {
    if (pools.size() == 1) default_pool_ = PoolId{0};
    for (std::size_t i = pools.size(); i > 0; --i) {
        if (pools[i - 1].is_default) default_pool_ = PoolId{i - 1};
        if (!pools[i - 1].models.empty()) first_model_pool_ = PoolId{i - 1};
    }
}

std::expected<Arrival, Objection> RequestRouter::route(const http::RequestHead& head) const {
    Arrival arrival{.target = head.target};
    if (auto chosen = choose_pool(head, arrival); !chosen) return std::unexpected(chosen.error());
    for (const http::Field& field : head.fields)
        if (is_own_field(field.name))
            if (auto read = read_own_field(field, arrival); !read)
                return std::unexpected(read.error());
    arrival.is_aside = !arrival.reads_model && is_aside(arrival, head);
    arrival.is_forwarded = http::is_forwarded(head.fields);
    return arrival;
}

std::expected<void, Objection> RequestRouter::choose_pool(const http::RequestHead& head,
                                                          Arrival& arrival) const {
    std::expected<PoolId, Objection> pool = default_pool();
    if (head.target.starts_with(pool_prefix)) {
        const std::string_view rest = head.target.substr(pool_prefix.size());
        const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
        pool = pool_named(rest.substr(0, end));
        arrival.target = rest.substr(end);
        if (!arrival.target.starts_with('/'))
            return std::unexpected(no_pool("The path must have a / after the name of the pool."));
    } else if (const http::Field* named = http::find(head.fields, "turnpike-pool")) {
        pool = pool_named(named->value);
    } else if (!first_model_pool_.is_none() && is_json(head)) {
        arrival.reads_model = true;
        if (!pool) pool = first_model_pool_;
    }
    if (!pool) return std::unexpected(pool.error());
    arrival.pool = *pool;
    return {};
}

std::expected<PoolId, Objection> RequestRouter::pool_named(std::string_view name) const {
    const auto pool = std::ranges::find(pools_, name, &PoolConfig::name);
    if (pool == pools_.end())
        return std::unexpected(no_pool(fmt::format("There is no pool \"{}\".", name)));
    return PoolId{static_cast<std::uint64_t>(pool - pools_.begin())};
}

std::expected<PoolId, Objection> RequestRouter::default_pool() const {
    if (default_pool_.is_none())
        return std::unexpected(no_pool("The request names no pool, and no pool is the default."));
    return default_pool_;
}

std::expected<PoolId, Objection> RequestRouter::pool_for_model(std::string_view model) const {
    for (std::size_t i = 0; i < pools_.size(); ++i)
        if (std::ranges::find(pools_[i].models, model) != pools_[i].models.end()) return PoolId{i};
    if (default_pool_.is_none())
        return std::unexpected(no_pool(fmt::format("No pool serves the model \"{}\".", model)));
    return default_pool_;
}

Objection RequestRouter::no_pool(std::string_view why) const {
    return {Problem::no_pool, fmt::format("{} The pools are: {}.", why, names_of(pools_))};
}

bool RequestRouter::is_aside(const Arrival& arrival, const http::RequestHead& head) const {
    const std::string_view path = path_of(arrival.target);
    return std::ranges::any_of(pools_[arrival.pool.value].aside, [&](const AsideRule& rule) {
        if (rule.method != http::name_of(head.method)) return false;
        if (!rule.path.ends_with("/*")) return path == rule.path;
        return path.starts_with(std::string_view(rule.path).substr(0, rule.path.size() - 1));
    });
}

void append_forwarded_fields(std::string& out, const Forwarded& from) {
    constexpr std::string_view forwarded = "X-Forwarded-For";
    http::append_field(out, "Host", from.head.host.empty() ? "localhost" : from.head.host);
    std::string hops;
    const auto add_hop = [&](std::string_view hop) {
        if (!hops.empty() && !hop.empty()) hops.append(", ");
        hops.append(hop);
    };
    for (const http::Field& field : from.head.fields) {
        if (http::is_hop_by_hop(field, from.head.fields)) continue;
        if (is_own_field(field.name) || AccessControl::is_key_field(field.name, from.keys))
            continue;
        if (http::is_named(field.name, "host") || is_ambiguous(field.name)) continue;
        if (http::is_named(field.name, forwarded))
            add_hop(field.value);
        else
            http::append_field(out, field.name, field.value);
    }
    add_hop(from.client);
    if (!hops.empty()) http::append_field(out, forwarded, hops);
    http::append_field(out, "Turnpike-Job", from.job);
}

}  // namespace turnpike
