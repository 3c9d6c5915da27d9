// The first API key locks a gate that runs without keys: within a second it refuses every client
// that has none. So `turnpike key new` asks first.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/running_gate.h"

namespace turnpike {

/// Returns the running gates of this user that read this key file and accept requests without a
/// key. A gate that does not answer counts as one.
[[nodiscard]] std::vector<RunningGate> gates_without_keys(const std::string& key_file);

/// Asks on the terminal whether the key may lock these gates. Without a terminal the answer is no.
/// Returns an error if it may not.
[[nodiscard]] std::expected<void, CommandError> confirm_first_key(
    const std::vector<RunningGate>& gates, const std::string& name);

}  // namespace turnpike
