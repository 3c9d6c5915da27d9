// Every command's name, its flags, and what --help says about them.
#pragma once

#include <optional>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace turnpike {

/// Adds every command to `app`. Parsing stores the command in `chosen`, which must outlive `app`.
void add_commands(CLI::App& app, std::optional<Command>& chosen);

}  // namespace turnpike
