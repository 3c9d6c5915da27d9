// Asks the CUDA driver which GPUs it has. A child process asks, since cuInit can't be undone and
// may hang. The child ignores CUDA_VISIBLE_DEVICES and sees every GPU in the order of the PCI bus,
// so that an index means the same as in NVML.
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

/// Returns CUDA's version and GPUs. Must be called before this process has other threads. The error
/// is a message for people.
[[nodiscard]] std::expected<CudaListing, std::string> list_by_cuda();

/// Returns "CUDA 12.4".
[[nodiscard]] std::string version_text(const CudaListing& listing);

/// Returns "CUDA 12.4, 4 devices". The error says why CUDA does not work. Must be called before
/// this process has other threads.
[[nodiscard]] std::expected<std::string, std::string> cuda_state();

}  // namespace turnpike
