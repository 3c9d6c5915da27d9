// Starting another program: by posix_spawn, so that threads and a large memory do no harm, with no
// descriptor of ours but those that are named.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct SpawnSpec {
    std::string program;                   // a path; without a slash, looked for in PATH
    std::vector<std::string> arguments;    // with the program's own name first
    std::vector<std::string> environment;  // "NAME=value"
    std::vector<int> descriptors;          // ours, which become 0, 1, 2 … there
};

/// In a session of its own, with every signal at its default. The error is an errno.
[[nodiscard]] std::expected<pid_t, int> spawn(const SpawnSpec& spec);

/// Of this process, as "NAME=value".
[[nodiscard]] std::vector<std::string> own_environment();

/// Puts "NAME=value" in place of what NAME was.
void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value);
/// Empty: there is none.
[[nodiscard]] std::string value_of(const std::vector<std::string>& environment,
                                   std::string_view name);
[[nodiscard]] bool has_variable(const std::vector<std::string>& environment, std::string_view name);

}  // namespace turnpike
