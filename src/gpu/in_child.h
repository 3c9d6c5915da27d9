// Runs work in a child process. It is for work that must not run in this process, because it may
// hang or crash, or because its effects can't be undone.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "base/time.h"

namespace turnpike {

/// Runs `work` in a forked child and returns its result. The error says how the child ended
/// instead: "it crashed (signal 11)". Must be called before this process has other threads.
[[nodiscard]] std::expected<std::string, std::string> in_child(
    const std::function<std::string()>& work, Duration limit);

}  // namespace turnpike
