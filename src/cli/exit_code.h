// The exit codes of every command.
#pragma once

namespace turnpike {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;  // wrong command line or configuration
inline constexpr int exit_nothing_runs = 3;

}  // namespace turnpike
