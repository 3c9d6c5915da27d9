// What the commands say: facts on stdout, everything else on stderr.
#pragma once

#include <string_view>

#include "cli/exit_code.h"

namespace turnpike {

/// On stdout, as it is. The exit code: failed, with a message, if it could not all be written.
[[nodiscard]] int print(std::string_view text);

/// "turnpike: problem" on stderr; gives the exit code back.
int complain(std::string_view problem, int exit_code = exit_failed);

/// Advice, and whatever else must not be in the way of what is on stdout.
void print_to_stderr(std::string_view text);

}  // namespace turnpike
