// Interprets the caller's own CUDA_VISIBLE_DEVICES as CUDA does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace turnpike {

/// Returns the GPUs that the variable allows. Unset allows all; "", "-1" and "NoDevFiles" allow
/// none. Any other value is a list of indices, UUIDs, unique beginnings of UUIDs, and names of MIG
/// devices. The result is in the order of that list. The first entry that names no GPU hides itself
/// and all entries after it. A GPU that is named twice counts once.
[[nodiscard]] Machine visible_machine(const std::vector<Gpu>& gpus,
                                      const std::optional<std::string>& cuda_visible_devices);

}  // namespace turnpike
