// `turnpike down`: tells a gate to stop, and waits until it is gone.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace turnpike {

/// What /-/status tells about a gate that is shutting down.
struct ShutdownState {
    bool has_begun = false;
    std::size_t jobs = 0;  // jobs that the gate still waits for
};

/// Returns nullopt if `json` is not a status.
[[nodiscard]] std::optional<ShutdownState> shutdown_state_in(std::string_view json);

}  // namespace turnpike
