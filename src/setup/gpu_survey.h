// A look at every GPU, for commands that wait for it: a GPU that hangs does not keep them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace turnpike {

struct SurveyedGpu {
    std::optional<GpuSight> sight;
    std::string trouble;  // why there is none; also empty where nobody can look, for want of NVML
};

/// In the order of driver.gpus(). A look that hangs goes on, on a thread that nobody waits for.
[[nodiscard]] std::vector<SurveyedGpu> survey_gpus(const GpuDriver& driver);

}  // namespace turnpike
