// `turnpike status --clients`: shows who uses the gate, as its /-/status tells.
#pragma once

#include <expected>
#include <string>

#include "cli/status.h"
#include "terminal/table.h"

namespace turnpike {

/// Returns a table of the clients that have jobs here or were refused, those with most jobs first.
[[nodiscard]] std::expected<std::string, std::string> clients_text(const StatusPage&, TextStyle);

}  // namespace turnpike
