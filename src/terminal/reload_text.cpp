#include "terminal/reload_text.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

namespace json = boost::json;

/// "2 of 4 lanes"
std::string lanes_text(const json::object& reload) {
    const std::size_t all = count_of(reload, "lanes");
    return fmt::format("{} of {} lane{}", count_of(reload, "lanes_switched"), all,
                       all == 1 ? "" : "s");
}

}  // namespace

std::string reload_line(const json::object& reload) {
    const std::string state = text_of(reload, "state");
    if (state.empty()) return "";
    const std::string took = span_of(reload, "took_s");
    std::string line =
        fmt::format("reload {} ({}): ", text_of(reload, "generation"), text_of(reload, "why"));
    if (state == "done" && count_of(reload, "lanes") == 0)
        return line + fmt::format("done after {}, but every lane is off", took);
    if (state == "done")
        return line + fmt::format("{} on the new code after {}", lanes_text(reload), took);
    if (state == "abandoned")
        return line + fmt::format("failed after {}; the old code keeps serving", took);
    if (state == "superseded") return line + "replaced by a newer reload";
    if (state == "waiting" && count_of(reload, "lanes") == 0)
        return line + "waiting until a lane is on; bring one back with: turnpike restart LANE";
    if (state == "waiting") return line + fmt::format("waiting for its turn, for {}", took);
    return line + fmt::format("{} on the new code, for {}", lanes_text(reload), took);
}

std::string indented(std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        text += "    " + sanitized(lines.substr(0, end)) + '\n';
        lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
    return text;
}

std::string reload_error(const json::object& reload) {
    const json::value* trouble = reload.if_contains("trouble");
    const json::string* text = trouble == nullptr ? nullptr : trouble->if_string();
    return text == nullptr ? "" : indented({text->data(), text->size()});
}

}  // namespace turnpike
