// The words of every command: names, flags, and what --help says about them.
#pragma once

#include <optional>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace turnpike {

/// Whatever the app parses then becomes `chosen`, which must outlive it.
void add_commands(CLI::App& app, std::optional<Command>& chosen);

}  // namespace turnpike
