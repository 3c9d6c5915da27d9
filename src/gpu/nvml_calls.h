// The binary interface of NVML: its structures, and the functions by their names in the library.
// Declared here, from NVIDIA's public documentation, so that building needs no file of NVIDIA's.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/library.h"
#include "gpu/nvml.h"

namespace turnpike {

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlMemory {
    std::uint64_t total, free, used;
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlMemory2 {
    std::uint32_t version;
    std::uint64_t total, reserved, free, used;
};
static_assert(sizeof(NvmlMemory2) == 40);
inline constexpr std::uint32_t nvml_memory_version_2 = sizeof(NvmlMemory2) | 2U << 24;

struct NvmlProcess1 {
    std::uint32_t pid;
    std::uint64_t memory;
};
static_assert(sizeof(NvmlProcess1) == 16);

struct NvmlProcess2 {  // also used by the calls that end in _v3
    std::uint32_t pid;
    std::uint64_t memory;
    std::uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlProcess2) == 24);
inline constexpr std::uint64_t nvml_not_available = ~std::uint64_t{0};

struct NvmlPci {
    char bus_id_legacy[16];
    std::uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
static_assert(sizeof(NvmlPci) == 68);

struct Nvml::Calls {
    using List1 = NvmlCode(NvmlDevice, std::uint32_t* count, NvmlProcess1*);
    using List2 = NvmlCode(NvmlDevice, std::uint32_t* count, NvmlProcess2*);
    using Text = NvmlCode(NvmlDevice, char*, std::uint32_t size);

    NvmlCode (*init)();
    NvmlCode (*count)(std::uint32_t*);
    NvmlCode (*by_index)(std::uint32_t, NvmlDevice*);
    NvmlCode (*by_uuid)(const char*, NvmlDevice*);
    Text* uuid;
    Text* name;

    // At least one of the two memory calls and one of the two process lists is not null.
    NvmlCode (*memory)(NvmlDevice, NvmlMemory*);
    NvmlCode (*memory_2)(NvmlDevice, NvmlMemory2*);
    List1* processes_1;
    List2* processes_2;

    // These may be null.
    List2* mps_processes;
    NvmlCode (*pci)(NvmlDevice, NvmlPci*);
    NvmlCode (*driver_version)(char*, std::uint32_t size);
    const char* (*error_text)(NvmlCode);

    /// Returns the first required symbol that is missing. Empty if all are there.
    [[nodiscard]] std::string bind(const Library& library);
};

}  // namespace turnpike
