// What a look at a GPU shows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace turnpike {

/// One that has a CUDA context there. In a container the pid may be one of another namespace.
struct GpuProcess {
    std::int64_t pid = 0;
    std::optional<Bytes> memory;  // the driver does not always say
    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct GpuUsage {
    Bytes memory_used;
    std::vector<GpuProcess> processes;  // by pid; none where the driver can't list them (WSL)
    friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
};

enum class GpuFailure : std::uint8_t {
    lost,  // it fell off the bus, needs a reset, or is gone: nothing runs there until that changes
    unknown,  // it could not be asked now
};

}  // namespace turnpike
