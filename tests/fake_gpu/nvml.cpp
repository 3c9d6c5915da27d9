// libnvidia-ml.so.1 of the fake driver. It declares the layouts a second time on purpose, so that a
// mistake in src/gpu is not repeated here.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "state.h"

namespace {

enum Code : int {
    success = 0,
    uninitialized = 1,
    not_found = 6,
    insufficient_size = 7,
    gpu_is_lost = 15,
    argument_version_mismatch = 25,
};

bool is_initialized = false;

/// A device handle: the address of its UUID, which never changes.
using Device = const std::string*;

Device device_of(const std::string& uuid) {
    static std::mutex mutex;
    static std::set<std::string> known;
    const std::scoped_lock lock(mutex);
    return &*known.insert(uuid).first;
}

int give(Device* device, const std::string& uuid) {
    if (const int code = fake::code_in("lost-" + uuid, gpu_is_lost); code != 0) return code;
    *device = device_of(uuid);
    return success;
}

/// Returns the error with which every call about this device begins, or success.
int trouble_of(Device device) {
    if (!is_initialized) return uninitialized;
    return fake::code_in("lost-" + *device, gpu_is_lost);
}

int copy(const std::string& text, char* place, unsigned size) {
    if (text.size() + 1 > size) return insufficient_size;
    std::snprintf(place, size, "%s", text.c_str());
    return success;
}

struct Memory {
    unsigned long long total, free, used;
};

Memory memory_of(Device device) {
    Memory memory{};
    for (const fake::Gpu& gpu : fake::gpus())
        if (gpu.uuid == *device) memory.total = gpu.memory;
    for (const fake::Holder& holder : fake::holders_of(*device)) memory.used += holder.memory;
    memory.free = memory.total - std::min(memory.used, memory.total);
    return memory;
}

template <class Info>
int list(Device device, unsigned* count, Info* infos) {
    fake::wait_while_hanging(*device);
    if (const int code = trouble_of(device); code != 0) return code;
    const auto holders = fake::holders_of(*device);
    const unsigned room = *count;
    *count = static_cast<unsigned>(holders.size());
    if (room < holders.size()) return insufficient_size;
    for (std::size_t i = 0; i < holders.size(); ++i) {
        infos[i] = {};
        infos[i].pid = holders[i].pid;
        infos[i].used = holders[i].memory;
    }
    return success;
}

struct Process1 {
    unsigned pid;
    unsigned long long used;
};

[[maybe_unused]] constexpr int memory_2_size = 40;

}  // namespace

#define FAKE_CALL extern "C" __attribute__((visibility("default"))) int

FAKE_CALL nvmlInit_v2() {
    const int code = fake::code_in("init");
    is_initialized = is_initialized || code == success;
    return code;
}

FAKE_CALL nvmlDeviceGetCount_v2(unsigned* count) {
    if (!is_initialized) return uninitialized;
    *count = static_cast<unsigned>(fake::gpus().size());
    return success;
}

FAKE_CALL nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    if (!is_initialized) return uninitialized;
    const auto gpus = fake::gpus();
    return index < gpus.size() ? give(device, gpus[index].uuid) : not_found;
}

#ifndef FAKE_BROKEN
FAKE_CALL nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
    if (!is_initialized) return uninitialized;
    for (const fake::Gpu& gpu : fake::gpus())
        if (gpu.uuid == uuid) return give(device, gpu.uuid);
    return not_found;
}
#endif

FAKE_CALL nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
    if (const int code = trouble_of(device); code != 0) return code;
    return copy(*device, text, size);
}

FAKE_CALL nvmlDeviceGetName(Device device, char* text, unsigned size) {
    if (const int code = trouble_of(device); code != 0) return code;
    return copy(fake::gpu_name, text, size);
}

FAKE_CALL nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
    if (const int code = trouble_of(device); code != 0) return code;
    *memory = memory_of(device);
    return success;
}

FAKE_CALL nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, Process1* infos) {
    return list(device, count, infos);
}

#ifndef FAKE_OLD
namespace {

struct Memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
static_assert(sizeof(Memory2) == memory_2_size);

struct Process3 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct Pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

}  // namespace

FAKE_CALL nvmlDeviceGetMemoryInfo_v2(Device device, Memory2* memory) {
    if (memory->version != (memory_2_size | 2 << 24)) return argument_version_mismatch;
    if (const int code = trouble_of(device); code != 0) return code;
    const Memory plain = memory_of(device);
    *memory = {memory->version, plain.total, 0, plain.free, plain.used};
    return success;
}

FAKE_CALL nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process3* infos) {
    return list(device, count, infos);
}

FAKE_CALL nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count,
                                                     Process3* infos) {
    return list(device, count, infos);
}

FAKE_CALL nvmlDeviceGetPciInfo_v3(Device device, Pci* pci) {
    if (const int code = trouble_of(device); code != 0) return code;
    *pci = {};
    const auto gpus = fake::gpus();
    const auto at = std::ranges::find(gpus, *device, &fake::Gpu::uuid) - gpus.begin();
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", static_cast<unsigned>(at));
    return success;
}

FAKE_CALL nvmlSystemGetDriverVersion(char* text, unsigned size) {
    return copy("fake 1.0", text, size);
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int) {
    return "an error of the fake driver";
}
#endif
