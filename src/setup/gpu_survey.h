// Reads the state of every GPU, for commands that wait for the result. A GPU that hangs delays a
// command by a few seconds at most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace turnpike {

struct SurveyedGpu {
    std::optional<GpuUsage> usage;
    std::string trouble;  // why `usage` is empty; empty if there is no NVML
};

/// Returns the GPUs in the order of driver.gpus(). If a GPU hangs, a thread is left waiting for it,
/// and left_thread_in_driver() is true from then on. Must be called on the main thread.
[[nodiscard]] std::vector<SurveyedGpu> survey_gpus(const GpuDriver& driver);

/// True if a thread of a survey may still be in the driver. The process must then end with _Exit:
/// what usually runs after main would destroy what that thread and the driver still use.
[[nodiscard]] bool left_thread_in_driver();

}  // namespace turnpike
