// Asks the CUDA driver whether this process can still use its GPUs.
//
// After an illegal address, a device-side assert or the like, every call of the process's CUDA
// context fails with that error, for good. So the driver knows what the text of an exception can
// only claim. Nothing here waits for the GPU, or starts to use it.
#pragma once

namespace turnpike::inside {

/// True if a CUDA context of this process has failed for good. False if the process does not use
/// CUDA.
bool is_cuda_poisoned();

}  // namespace turnpike::inside
