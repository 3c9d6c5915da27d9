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

std::expected<Roll, Trouble> call_roll(const std::optional<std::string>& gate) {
    const auto got = ask_gate(gate, {.target = "/-/status"});
    if (!got) return std::unexpected(got.error());
    auto roll = roll_of(got->answer.body);
    if (!roll) return std::unexpected(Trouble{exit_failed, std::move(roll.error())});
    return *std::move(roll);
}

}  // namespace

std::expected<Roll, std::string> roll_of(std::string_view status_json) {
    const auto page = parse_facts(status_json);
    if (!page) return std::unexpected(page.error());
    Roll roll;
    for (const boost::json::value& pool : list_of(*page, "pools"))
        roll.pools.push_back(text_of(object_of(pool), "pool"));
    roll.lanes = list_of(*page, "lanes").size();
    return roll;
}

bool is_lane_number(std::string_view word) {
    constexpr std::size_t digits_max = 9;
    return !word.empty() && word.size() <= digits_max &&
           std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> objection_to_lane(std::string_view word, const Roll& roll) {
    if (!is_lane_number(word))
        return fmt::format("LANE is a number, as in `turnpike status`; \"{}\" is none", tame(word));
    const std::size_t number = std::stoul(std::string(word));
    if (number < roll.lanes) return std::nullopt;
    return fmt::format("there is no lane {}; there {} {}", number, roll.lanes == 1 ? "is" : "are",
                       lanes_text(roll.lanes));
}

std::optional<std::string> objection_to_pool(std::string_view word, const Roll& roll) {
    if (std::ranges::find(roll.pools, word) != roll.pools.end()) return std::nullopt;
    return fmt::format("there is no pool \"{}\"; there are: {}; {}", tame(word),
                       pools_text(roll.pools), lanes_text(roll.lanes));
}

std::optional<Trouble> trouble_with_lane(const std::optional<std::string>& gate,
                                         std::string_view word) {
    if (!is_lane_number(word)) return Trouble{exit_usage, *objection_to_lane(word, {})};
    const auto roll = call_roll(gate);
    if (!roll) return roll.error();
    if (auto objection = objection_to_lane(word, *roll))
        return Trouble{exit_failed, *std::move(objection)};
    return std::nullopt;
}

std::optional<Trouble> trouble_with_pool(const std::optional<std::string>& gate,
                                         std::string_view word) {
    const auto roll = call_roll(gate);
    if (!roll) return roll.error();
    if (auto objection = objection_to_pool(word, *roll))
        return Trouble{is_name(word) ? exit_failed : exit_usage, *std::move(objection)};
    return std::nullopt;
}

}  // namespace turnpike
