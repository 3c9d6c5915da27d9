#include "cli/pools_and_lanes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "base/name.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

std::string lanes_text(std::size_t count) {
    if (count == 0) return "no lanes";
    return count == 1 ? "lane 0" : fmt::format("lanes 0 to {}", count - 1);
}

std::string pools_text(const std::vector<std::string>& pools) {
    return fmt::format("pool{} {}", pools.size() == 1 ? "" : "s", fmt::join(pools, ", "));
}

}  // namespace

std::expected<PoolsAndLanes, std::string> pools_and_lanes_in(std::string_view status_json) {
    const auto page = parse_facts(status_json);
    if (!page) return std::unexpected(page.error());
    PoolsAndLanes known;
    for (const boost::json::value& pool : list_of(*page, "pools"))
        known.pools.push_back(text_of(object_of(pool), "pool"));
    known.lanes = list_of(*page, "lanes").size();
    return known;
}

std::expected<PoolsAndLanes, CommandError> ask_pools_and_lanes(
    const std::optional<std::string>& gate) {
    const auto got = ask_gate(gate, {.target = "/-/status"});
    if (!got) return std::unexpected(got.error());
    auto known = pools_and_lanes_in(got->answer.body);
    if (!known) return std::unexpected(CommandError{exit_failed, std::move(known.error())});
    return *std::move(known);
}

bool is_lane_number(std::string_view word) {
    constexpr std::size_t digits_max = 9;
    return !word.empty() && word.size() <= digits_max &&
           std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> objection_to_lane(std::string_view word, const PoolsAndLanes& known) {
    if (!is_lane_number(word))
        return fmt::format("\"{}\" is not the number of a lane; see: turnpike status",
                           sanitized(word));
    const std::size_t number = std::stoul(std::string(word));
    if (number < known.lanes) return std::nullopt;
    return fmt::format("there is no lane {}; there {} {}", number, known.lanes == 1 ? "is" : "are",
                       lanes_text(known.lanes));
}

std::optional<std::string> objection_to_pool(std::string_view word, const PoolsAndLanes& known) {
    if (std::ranges::find(known.pools, word) != known.pools.end()) return std::nullopt;
    return fmt::format("there is no pool \"{}\"; there are: {}; {}", sanitized(word),
                       pools_text(known.pools), lanes_text(known.lanes));
}

std::optional<CommandError> check_lane(const std::optional<std::string>& gate,
                                       std::string_view word) {
    if (!is_lane_number(word)) return CommandError{exit_usage, *objection_to_lane(word, {})};
    const auto known = ask_pools_and_lanes(gate);
    if (!known) return known.error();
    if (auto objection = objection_to_lane(word, *known))
        return CommandError{exit_failed, *std::move(objection)};
    return std::nullopt;
}

std::optional<CommandError> check_pool(const std::optional<std::string>& gate,
                                       std::string_view word) {
    const auto known = ask_pools_and_lanes(gate);
    if (!known) return known.error();
    if (auto objection = objection_to_pool(word, *known))
        return CommandError{is_name(word) ? exit_failed : exit_usage, *std::move(objection)};
    return std::nullopt;
}

}  // namespace turnpike
