// The caller's own CUDA_VISIBLE_DEVICES, read as CUDA reads it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace turnpike {

/// Unset: all. "", "-1", "NoDevFiles": none. Else a list of indices, UUIDs or unique beginnings of
/// them, and names of MIG devices, in the order of the list; the first entry that names no GPU hides
/// itself and all after it. A GPU that is named twice counts once.
[[nodiscard]] Machine visible_machine(const std::vector<Gpu>& gpus,
                                      const std::optional<std::string>& cuda_visible_devices);

}  // namespace turnpike
