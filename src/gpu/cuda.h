// The CUDA driver, asked what it has. A child asks, since cuInit stays with a process for good and
// may hang; and the child sees every GPU in the order of the PCI bus, whatever this process is told to
// see, so that indices mean what they mean to NVML.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace turnpike {

struct CudaListing {
    int version = 0;  // 12040 is 12.4
    std::vector<Gpu> gpus;
};

/// To be called before this process has other threads. An error is a sentence for people.
[[nodiscard]] std::expected<CudaListing, std::string> list_by_cuda();

/// "CUDA 12.4"
[[nodiscard]] std::string version_text(const CudaListing& listing);

/// "CUDA 12.4, 4 devices", or why it does not work. To be called like list_by_cuda().
[[nodiscard]] std::expected<std::string, std::string> cuda_state();

}  // namespace turnpike
