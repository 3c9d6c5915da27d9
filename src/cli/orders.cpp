#include "cli/orders.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/name.h"
#include "cli/command.h"
#include "cli/pools_and_lanes.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using Routes = std::expected<std::vector<std::string>, CommandError>;
using Gate = std::optional<std::string>;

struct Words {
    std::string_view of_one;
    std::string_view of_several;
    std::string_view advice;
};

/// order_text() appends the lane to the advice for `drain`.
Words words_for_order(std::string_view asked) {
    constexpr std::string_view look = "see: turnpike status";
    if (asked == "restart")
        return {"finishes its jobs, then starts again", "finish their jobs, then start again",
                look};
    if (asked == "drain")
        return {"finishes its jobs and takes no more", "finish their jobs and take no more",
                "bring it back with: turnpike resume"};
    return {"takes jobs again when its worker serves", "take jobs again", look};
}

std::string lanes_text(const json::array& lanes) {
    std::string numbers;
    for (const json::value& lane : lanes)
        numbers += (numbers.empty() ? "" : ", ") + sanitized(json::serialize(lane));
    return fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", numbers);
}

Routes routes_of_all(const Gate& gate, std::string_view what) {
    const auto known = ask_pools_and_lanes(gate);
    if (!known) return std::unexpected(known.error());
    std::vector<std::string> routes;
    for (const std::string& pool : known->pools) routes.push_back(*pool_route(pool, what));
    return routes;
}

Routes route_of_lane(const Gate& gate, std::string_view lane, std::string_view what) {
    if (auto trouble = check_lane(gate, lane)) return std::unexpected(*std::move(trouble));
    return std::vector{*lane_route(lane, what)};
}

Routes route_of_pool(const Gate& gate, std::string_view pool, std::string_view what) {
    if (auto trouble = check_pool(gate, pool)) return std::unexpected(*std::move(trouble));
    return std::vector{*pool_route(pool, what)};
}

Routes routes_of(const RestartCommand& command) {
    if (command.what == "all") return routes_of_all(command.gate, "restart");
    if (is_lane_number(command.what)) return route_of_lane(command.gate, command.what, "restart");
    return route_of_pool(command.gate, command.what, "restart");
}

/// Asks the gate for each route. The JSON is a list if there are several routes.
int give_orders(const Gate& gate, const Routes& routes, bool wants_json) {
    if (!routes) return complain(routes.error());
    std::string text;
    std::string list;
    for (const std::string& route : *routes) {
        const auto got = ask_gate(gate, {.method = http::Method::post, .target = route});
        if (!got) return complain(got.error());
        const auto line = order_text(got->answer.body, gate);
        if (!line) return complain(line.error());
        text += *line;
        list += (list.empty() ? "" : ",") + got->answer.body;
    }
    if (!wants_json) return print(text);
    return print(routes->size() == 1 ? list : "[" + list + "]\n");
}

}  // namespace

std::optional<std::string> lane_route(std::string_view lane, std::string_view what) {
    if (!is_lane_number(lane)) return std::nullopt;
    return fmt::format("/-/lanes/{}/{}", lane, what);
}

std::optional<std::string> pool_route(std::string_view pool, std::string_view what) {
    if (!is_name(pool)) return std::nullopt;
    return fmt::format("/-/pools/{}/{}", pool, what);
}

std::expected<std::string, std::string> order_text(std::string_view text, const Gate& gate) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    const std::string asked = text_of(*page, "asked");
    const Words words = words_for_order(asked);
    const std::string name = gate ? " --name " + sanitized(*gate) : "";
    if (const std::string pool = text_of(*page, "pool"); !pool.empty()) {
        const json::array& lanes = list_of(*page, "lanes");
        return fmt::format("pool {}: {} {}; {}{}\n", pool, lanes_text(lanes),
                           lanes.size() == 1 ? words.of_one : words.of_several, words.advice, name);
    }
    const std::string lane = text_of(*page, "lane");
    return fmt::format("lane {} {}; {}{}{}\n", lane, words.of_one, words.advice,
                       asked == "drain" ? " " + lane : "", name);
}

int run(const RestartCommand& command) {
    return give_orders(command.gate, routes_of(command), command.json);
}

int run(const DrainCommand& command) {
    return give_orders(command.gate, route_of_lane(command.gate, command.lane, "drain"),
                       command.json);
}

int run(const ResumeCommand& command) {
    return give_orders(command.gate, route_of_lane(command.gate, command.lane, "resume"),
                       command.json);
}

}  // namespace turnpike
