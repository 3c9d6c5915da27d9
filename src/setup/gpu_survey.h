// A look at every GPU, for commands that wait for it: a GPU that hangs does not keep them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace turnpike {

struct GpuAnswer {
    std::optional<GpuUsage> usage;
    std::string trouble;  // why there is none; also empty without NVML, when look() can't work
};

/// In the order of driver.gpus(). A look that hangs goes on, on a thread that nobody waits for.
[[nodiscard]] std::vector<GpuAnswer> look_at_all(const GpuDriver& driver);

}  // namespace turnpike
