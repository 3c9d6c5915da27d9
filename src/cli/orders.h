// `turnpike restart`, `drain` and `resume`: which of the gate's routes they call, and what the
// answers mean.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

/// Returns a path such as "/-/lanes/0/restart", or nullopt if `lane` is not a number.
[[nodiscard]] std::optional<std::string> lane_route(std::string_view lane, std::string_view what);

/// Returns a path such as "/-/pools/chat/restart", or nullopt if `pool` can't be the name of a
/// pool.
[[nodiscard]] std::optional<std::string> pool_route(std::string_view pool, std::string_view what);

/// Returns a line that says what happens now: "lane 0 finishes its jobs, then starts again; …".
/// `gate` is the name that the command was given, if any; the advice then repeats it.
[[nodiscard]] std::expected<std::string, std::string> order_text(
    std::string_view json, const std::optional<std::string>& gate = {});

}  // namespace turnpike
