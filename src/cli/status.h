// `turnpike status`: shows the gate's /-/status to people.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "terminal/table.h"

namespace turnpike {

struct StatusPage {
    std::string_view gate;  // its name
    std::string_view json;  // what /-/status answered
};

/// Returns a line about the gate, a table of its pools and a table of its lanes.
[[nodiscard]] std::expected<std::string, std::string> status_text(const StatusPage&, TextStyle);

}  // namespace turnpike
