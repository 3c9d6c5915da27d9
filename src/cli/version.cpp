#include "cli/version.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/print.h"

namespace turnpike {

std::string_view version() { return TURNPIKE_VERSION; }

int run(const VersionCommand& command) {
    return print(command.json ? fmt::format("{{\"version\":\"{}\"}}\n", version())
                              : fmt::format("turnpike {}\n", version()));
}

}  // namespace turnpike
