// Puts reloads into words, from the gate's /-/status.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace turnpike {

/// Returns "reload 4 (model.py changed): 4 of 4 lanes on the new code after 0.9 s" for the member
/// `reload` of a pool. Empty if there was no reload.
[[nodiscard]] std::string reload_line(const boost::json::object& reload);

/// Returns why the reload was abandoned, as indented() lines. Empty if it was not abandoned.
[[nodiscard]] std::string reload_error(const boost::json::object& reload);

/// Returns each line sanitized, indented and with its newline.
[[nodiscard]] std::string indented(std::string_view lines);

}  // namespace turnpike
