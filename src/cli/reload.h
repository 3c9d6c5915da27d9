// `turnpike reload`: asks for new code, and follows it to its end.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace turnpike {

/// The generation that was asked for, by pool. Of the gate's answer for one pool, or for all.
using ReloadsAsked = std::map<std::string, std::uint64_t>;
[[nodiscard]] std::expected<ReloadsAsked, std::string> reloads_asked(std::string_view json);

/// How they stand in /-/status. A newer reload of the same pool counts as what was asked for: it has the
/// newer code.
struct ReloadsSeen {
    bool is_over = true;  // none goes on
    bool is_good = true;  // every lane is on the new code
    std::string lines;    // one for each pool
    std::string errors;   // why some failed
    std::string json;     // {"pool":"chat", …} of each, with commas between
};
[[nodiscard]] std::expected<ReloadsSeen, std::string> reloads_seen(const ReloadsAsked& asked,
                                                                   std::string_view status_json);

}  // namespace turnpike
