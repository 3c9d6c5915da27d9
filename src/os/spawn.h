// Starts another program. It uses posix_spawn, which is safe with threads and fast with much
// memory. The program inherits no descriptors except those that are named.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct SpawnSpec {
    std::string program;                   // a path; searched in PATH if it has no slash
    std::vector<std::string> arguments;    // the first is the program's name
    std::vector<std::string> environment;  // "NAME=value"
    std::vector<int> descriptors;          // of ours; they become 0, 1, 2 … in the program
};

/// Starts the program in its own session, with the default action for every signal. The error is an
/// errno.
[[nodiscard]] std::expected<pid_t, int> spawn(const SpawnSpec& spec);

/// Returns the environment of this process, as "NAME=value".
[[nodiscard]] std::vector<std::string> own_environment();

/// Sets NAME to the value, and replaces an old value.
void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value);
/// Returns the value of the variable. Empty if it is not set.
[[nodiscard]] std::string value_of(const std::vector<std::string>& environment,
                                   std::string_view name);
[[nodiscard]] bool has_variable(const std::vector<std::string>& environment, std::string_view name);

}  // namespace turnpike
