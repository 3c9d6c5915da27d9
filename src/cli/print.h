// How the commands print: results go to stdout, everything else to stderr.
#pragma once

#include <string_view>

#include "cli/exit_code.h"

namespace turnpike {

/// Writes `text` to stdout. Returns exit_done, or complains and returns exit_failed if the write
/// fails.
[[nodiscard]] int print(std::string_view text);

/// Writes "turnpike: problem" to stderr and returns `exit_code`.
int complain(std::string_view problem, int exit_code = exit_failed);

/// Writes `text` to stderr: advice, progress, and anything else that is not a result.
void print_to_stderr(std::string_view text);

}  // namespace turnpike
