// What is known about a GPU. The UUID identifies it; the index is NVML's, in the order of the PCI
// bus.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace turnpike {

struct Gpu {
    std::optional<std::uint32_t> index;  // nullopt for a MIG device, which only has a name
    std::string uuid;                    // "GPU-…", "MIG-…"
    std::string name;                    // "NVIDIA H200"
    Bytes memory_total{};
    std::string bus_id;  // "00000000:00:06.0"
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// The GPUs to serve on.
struct Machine {
    std::vector<Gpu> gpus;  // those that CUDA_VISIBLE_DEVICES allows, in its order
    std::string no_gpus;    // why there are none, as a sentence; empty if there are some
    std::string remark;     // what CUDA_VISIBLE_DEVICES hides by mistake; usually empty
};

}  // namespace turnpike
