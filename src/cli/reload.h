// `turnpike reload`: asks the gate to reload code, and follows the reload until it ends.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace turnpike {

/// The generation that was asked for, by pool.
using ReloadsAsked = std::map<std::string, std::uint64_t>;
/// Reads the gate's answer, which is about one pool or about all pools.
[[nodiscard]] std::expected<ReloadsAsked, std::string> reloads_asked(std::string_view json);

/// How the reloads stand in /-/status. A newer reload of the same pool counts as the one that was
/// asked for, since it has the newer code.
struct ReloadsSeen {
    bool is_over = true;  // no reload is under way
    bool is_good = true;  // every lane is on the new code
    std::string lines;    // a line for each pool
    std::string errors;   // why reloads failed
    std::string json;     // {"pool":"chat", …} for each pool, separated by commas
};
[[nodiscard]] std::expected<ReloadsSeen, std::string> reloads_seen(const ReloadsAsked& asked,
                                                                   std::string_view status_json);

}  // namespace turnpike
