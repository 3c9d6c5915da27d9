// Reloads in words, from the gate's /-/status.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace turnpike {

/// "reload 4 (model.py changed): all 4 lanes are on the new code after 0.9 s" of the member `reload` of a
/// pool. Empty: there was none.
[[nodiscard]] std::string reload_line(const boost::json::object& reload);

/// Why it was abandoned, tamed, each line indented and with its newline; empty: it was not.
[[nodiscard]] std::string reload_error(const boost::json::object& reload);

/// Lines of a stranger, each tamed, indented and with its newline.
[[nodiscard]] std::string indented(std::string_view lines);

}  // namespace turnpike
