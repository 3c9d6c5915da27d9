#include <utility>

#include "app/command.h"
#include "app/config_choice.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/up.h"

namespace turnpike {

int run(const UpCommand& command) {
    auto path = choose_config({.said = command.config, .attaches = !command.flags.attach.empty()});
    if (!path) return complain(path.error(), exit_usage);
    return up({.config_path = std::move(*path), .flags = command.flags, .name = command.name});
}

}  // namespace turnpike
