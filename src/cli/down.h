// `turnpike down`: tells a gate to stop, and waits until it is gone.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace turnpike {

/// What matters of /-/status while a gate ends.
struct ShutdownState {
    bool has_begun = false;
    std::size_t jobs = 0;  // that it still waits for
};

/// Nothing: that is no status.
[[nodiscard]] std::optional<ShutdownState> shutdown_state_in(std::string_view json);

}  // namespace turnpike
