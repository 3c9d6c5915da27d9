#include "app/orders.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/command.h"
#include "app/facts.h"
#include "app/print.h"
#include "app/running_gate.h"
#include "app/shown_text.h"
#include "base/name.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using Routes = std::expected<std::vector<std::string>, Trouble>;
using Gate = std::optional<std::string>;

struct Words {
    std::string_view of_one;
    std::string_view of_several;
    std::string_view advice;
};

/// `advice` may name the lane.
Words words_for_order(std::string_view asked) {
    constexpr std::string_view look = "look with: turnpike status";
    if (asked == "restart")
        return {"finishes its jobs, then starts anew", "finish their jobs, then start anew", look};
    if (asked == "drain")
        return {"finishes its jobs and takes no more", "finish their jobs and take no more",
                "bring it back with: turnpike resume"};
    if (asked == "resume")
        return {"takes jobs again when its worker serves", "take jobs again", look};
    return {"proves itself", "prove themselves, one at a time", look};
}

std::string lanes_text(const json::array& lanes) {
    std::string numbers;
    for (const json::value& lane : lanes)
        numbers += (numbers.empty() ? "" : ", ") + tame(json::serialize(lane));
    return fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", numbers);
}

bool is_number(std::string_view word) {
    constexpr std::size_t digits_max = 9;
    return !word.empty() && word.size() <= digits_max &&
           std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

Trouble no_lane(std::string_view word) {
    return {exit_usage,
            fmt::format("\"{}\" is no number of a lane; `turnpike status` lists them", tame(word))};
}

/// Those of the running gate, only with a proof if that is wanted.
std::expected<std::vector<std::string>, Trouble> pools_of(const Gate& gate, bool need_proof) {
    const auto got = ask_gate(gate, {.target = "/-/status"});
    if (!got) return std::unexpected(got.error());
    const auto page = parse_facts(got->answer.body);
    if (!page) return std::unexpected(Trouble{exit_failed, page.error()});
    std::vector<std::string> pools;
    for (const json::value& pool : list_of(*page, "pools"))
        if (!need_proof || text_of(object_of(pool), "proof") != "none")
            pools.push_back(text_of(object_of(pool), "pool"));
    if (pools.empty())
        return std::unexpected(Trouble{
            exit_failed, "no pool has a proof; configure one: [pool.NAME.proof] in turnpike.toml"});
    return pools;
}

Routes routes_of_all(const Gate& gate, std::string_view what) {
    const auto pools = pools_of(gate, what == "prove");
    if (!pools) return std::unexpected(pools.error());
    std::vector<std::string> routes;
    for (const std::string& pool : *pools) routes.push_back(*pool_route(pool, what));
    return routes;
}

Routes only(const std::optional<std::string>& route, const Trouble& otherwise) {
    if (!route) return std::unexpected(otherwise);
    return std::vector{*route};
}

Routes routes_of_pool(std::string_view pool, std::string_view what) {
    return only(
        pool_route(pool, what),
        {exit_usage, fmt::format("\"{}\" is no pool; `turnpike status` lists them", tame(pool))});
}

Routes routes_of(const RestartCommand& command) {
    if (command.what == "all") return routes_of_all(command.gate, "restart");
    if (const auto lane = lane_route(command.what, "restart")) return std::vector{*lane};
    return routes_of_pool(command.what, "restart");
}

/// Of several routes JSON is a list.
int give_orders(const Gate& gate, const Routes& routes, bool wants_json) {
    if (!routes) return complain(routes.error().message, routes.error().exit_code);
    std::string text;
    std::string list;
    for (const std::string& route : *routes) {
        const auto got = ask_gate(gate, {.method = http::Method::post, .target = route});
        if (!got) return complain(got.error().message, got.error().exit_code);
        const auto line = order_text(got->answer.body);
        if (!line) return complain(line.error());
        text += *line;
        list += (list.empty() ? "" : ",") + got->answer.body;
    }
    if (!wants_json) return print(text);
    return print(routes->size() == 1 ? list : "[" + list + "]\n");
}

}  // namespace

std::optional<std::string> lane_route(std::string_view lane, std::string_view what) {
    if (!is_number(lane)) return std::nullopt;
    return fmt::format("/-/lanes/{}/{}", lane, what);
}

std::optional<std::string> pool_route(std::string_view pool, std::string_view what) {
    if (!is_name(pool)) return std::nullopt;
    return fmt::format("/-/pools/{}/{}", pool, what);
}

std::expected<std::string, std::string> order_text(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    const std::string asked = text_of(*page, "asked");
    const Words words = words_for_order(asked);
    if (const std::string pool = text_of(*page, "pool"); !pool.empty()) {
        const json::array& lanes = list_of(*page, "lanes");
        return fmt::format("pool {}: {} {}; {}\n", pool, lanes_text(lanes),
                           lanes.size() == 1 ? words.of_one : words.of_several, words.advice);
    }
    const std::string lane = text_of(*page, "lane");
    return fmt::format("lane {} {}; {}{}\n", lane, words.of_one, words.advice,
                       asked == "drain" ? " " + lane : "");
}

int run(const RestartCommand& command) {
    return give_orders(command.gate, routes_of(command), command.json);
}

int run(const DrainCommand& command) {
    return give_orders(command.gate, only(lane_route(command.lane, "drain"), no_lane(command.lane)),
                       command.json);
}

int run(const ResumeCommand& command) {
    return give_orders(command.gate,
                       only(lane_route(command.lane, "resume"), no_lane(command.lane)),
                       command.json);
}

int run(const ProveCommand& command) {
    return give_orders(command.gate,
                       command.pool ? routes_of_pool(*command.pool, "prove")
                                    : routes_of_all(command.gate, "prove"),
                       command.json);
}

}  // namespace turnpike
