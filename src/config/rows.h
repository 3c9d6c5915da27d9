// The rows of the table, by what they are about.
#pragma once

#include <span>

#include "config/keys.h"

namespace turnpike {

[[nodiscard]] std::span<const Key> top_keys();
[[nodiscard]] std::span<const Key> gate_keys();
[[nodiscard]] std::span<const Key> queue_keys();
[[nodiscard]] std::span<const Key> log_keys();
[[nodiscard]] std::span<const Key> crash_keys();
[[nodiscard]] std::span<const Key> pool_keys();
[[nodiscard]] std::span<const Key> worker_keys();  // that have no meaning for attached ones
[[nodiscard]] std::span<const Key> native_keys();  // that have a meaning for models only
[[nodiscard]] std::span<const Key> proof_keys();

}  // namespace turnpike
