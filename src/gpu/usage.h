// How a GPU is used now.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace turnpike {

/// A process with a CUDA context on the GPU. In a container the pid may be of another namespace.
struct GpuProcess {
    std::int64_t pid = 0;
    std::optional<Bytes> memory;  // the driver does not always report it
    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct GpuUsage {
    Bytes memory_used;
    std::vector<GpuProcess> processes;  // sorted by pid; empty if the driver can't list them (WSL)
    friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
};

enum class GpuFailure : std::uint8_t {
    /// The GPU fell off the bus, needs a reset, or is gone. Nothing can run on it until that
    /// changes.
    lost,
    /// The driver could not answer this time.
    unknown,
};

}  // namespace turnpike
