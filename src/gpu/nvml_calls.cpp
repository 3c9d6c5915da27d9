#include "gpu/nvml_calls.h"

namespace turnpike {
namespace {

/// Finds the newest version of a call that the library has. The names are given newest first.
template <class Function, class... Older>
void find_newest(const Library& library, Function*& place, const char* name, Older... older) {
    place = library.find<Function>(name);
    if constexpr (sizeof...(older) > 0)
        if (place == nullptr) find_newest(library, place, older...);
}

}  // namespace

std::string Nvml::Calls::bind(const Library& library) {
    std::string missing;
    library.need(init, "nvmlInit_v2", missing);
    library.need(count, "nvmlDeviceGetCount_v2", missing);
    library.need(by_index, "nvmlDeviceGetHandleByIndex_v2", missing);
    library.need(by_uuid, "nvmlDeviceGetHandleByUUID", missing);
    library.need(uuid, "nvmlDeviceGetUUID", missing);
    library.need(name, "nvmlDeviceGetName", missing);

    find_newest(library, memory_2, "nvmlDeviceGetMemoryInfo_v2");
    find_newest(library, memory, "nvmlDeviceGetMemoryInfo");
    if (memory_2 == nullptr && memory == nullptr && missing.empty())
        missing = "nvmlDeviceGetMemoryInfo";
    find_newest(library, processes_2, "nvmlDeviceGetComputeRunningProcesses_v3",
                "nvmlDeviceGetComputeRunningProcesses_v2");
    find_newest(library, processes_1, "nvmlDeviceGetComputeRunningProcesses");
    if (processes_2 == nullptr && processes_1 == nullptr && missing.empty())
        missing = "nvmlDeviceGetComputeRunningProcesses";

    find_newest(library, mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                "nvmlDeviceGetMPSComputeRunningProcesses_v2");
    find_newest(library, pci, "nvmlDeviceGetPciInfo_v3");  // older versions use another structure
    find_newest(library, driver_version, "nvmlSystemGetDriverVersion");
    find_newest(library, error_text, "nvmlErrorString");
    return missing;
}

}  // namespace turnpike
