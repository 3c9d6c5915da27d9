// Changes a command line for /bin/sh so that no shell stays above the program, if none is needed.
// Then signals, exit codes and the parent-death signal reach the program itself.
#pragma once

#include <string>

namespace turnpike {

/// Turns "A=1 prog x" into "A=1 exec prog x". Returns the command unchanged if it is more than one
/// plain program, such as a pipe, a list, a builtin of the shell or a substitution.
[[nodiscard]] std::string without_shell(const std::string& command);

}  // namespace turnpike
