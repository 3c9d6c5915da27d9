// The rows of the table of keys, by subject.
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
[[nodiscard]] std::span<const Key> worker_keys();  // not for attached workers
[[nodiscard]] std::span<const Key> native_keys();  // only for models
[[nodiscard]] std::span<const Key> proof_keys();

}  // namespace turnpike
