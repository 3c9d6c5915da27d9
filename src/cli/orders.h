// `turnpike restart`, `drain` and `resume`: which routes they ask, and what the gate's
// answers mean.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

/// "/-/lanes/0/restart"; nothing: the word is no number of a lane.
[[nodiscard]] std::optional<std::string> lane_route(std::string_view lane, std::string_view what);

/// "/-/pools/chat/restart"; nothing: the word can't be the name of a pool.
[[nodiscard]] std::optional<std::string> pool_route(std::string_view pool, std::string_view what);

/// What follows from an order, as a line: "lane 0 finishes its jobs, then starts anew; …". The
/// advice names the gate, if who asked had to.
[[nodiscard]] std::expected<std::string, std::string> order_text(
    std::string_view json, const std::optional<std::string>& gate = {});

}  // namespace turnpike
