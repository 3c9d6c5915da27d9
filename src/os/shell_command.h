// A command line for /bin/sh, made so that no shell stays above the program where none is needed:
// then signals, exit codes and the parent-death signal are the program's own.
#pragma once

#include <string>

namespace turnpike {

/// "A=1 prog x" → "A=1 exec prog x". What is more than one plain program (pipes, lists, builtins of
/// the shell, substitutions) is left as it is.
[[nodiscard]] std::string without_shell(const std::string& command);

}  // namespace turnpike
