#include "gpu/nvml.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/nvml_calls.h"

namespace turnpike {
namespace {

using enum NvmlCode;
constexpr std::uint32_t text_size = 96;

/// Returns the text that a call writes into a buffer.
template <class Call>
std::expected<std::string, NvmlCode> text_from(Call call) {
    std::array<char, text_size> text{};
    if (const NvmlCode code = call(text.data(), text_size); code != success)
        return std::unexpected(code);
    text.back() = '\0';
    return std::string(text.data());
}

struct Memory {
    Bytes total, used;
};

std::expected<Memory, NvmlCode> memory_of(const Nvml::Calls& calls, NvmlDevice device) {
    if (calls.memory_2 != nullptr) {
        NvmlMemory2 memory{.version = nvml_memory_version_2};
        const NvmlCode code = calls.memory_2(device, &memory);
        if (code == success) return Memory{.total = {memory.total}, .used = {memory.used}};
        if (calls.memory == nullptr) return std::unexpected(code);
    }
    NvmlMemory memory{};
    if (const NvmlCode code = calls.memory(device, &memory); code != success)
        return std::unexpected(code);
    return Memory{.total = {memory.total}, .used = {memory.used}};
}

/// Appends the processes on the device. New processes may start while we ask, so the buffer always
/// gets room for more than there were.
template <class Process>
NvmlCode list_processes(NvmlCode (*list)(NvmlDevice, std::uint32_t*, Process*), NvmlDevice device,
                        std::vector<GpuProcess>& found) {
    constexpr std::size_t processes_max = 65'536;
    std::vector<Process> room(64);
    std::uint32_t count = 0;
    NvmlCode code = success;
    do {
        count = static_cast<std::uint32_t>(room.size());
        code = list(device, &count, room.data());
        if (code != insufficient_size) break;
        room.resize(2 * std::clamp<std::size_t>(count, room.size(), processes_max));
    } while (room.size() <= processes_max);
    if (code == not_supported) return success;  // no list will ever come, so callers must not wait
    if (code != success) return code;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, room.size()); ++i) {
        GpuProcess process{.pid = room[i].pid};
        if (room[i].memory != nvml_not_available) process.memory = Bytes{room[i].memory};
        found.push_back(process);
    }
    return success;
}

std::expected<std::vector<GpuProcess>, NvmlCode> processes_of(const Nvml::Calls& calls,
                                                              NvmlDevice device) {
    std::vector<GpuProcess> found;
    const NvmlCode code = calls.processes_2 != nullptr
                              ? list_processes(calls.processes_2, device, found)
                              : list_processes(calls.processes_1, device, found);
    if (code != success) return std::unexpected(code);
    if (calls.mps_processes != nullptr)  // optional, so errors are ignored
        static_cast<void>(list_processes(calls.mps_processes, device, found));
    std::ranges::sort(found, {}, &GpuProcess::pid);
    const auto twice = std::ranges::unique(found, {}, &GpuProcess::pid);
    found.erase(twice.begin(), twice.end());
    return found;
}

}  // namespace

Nvml::Nvml(std::unique_ptr<const Calls> calls) : calls_(std::move(calls)) {}
Nvml::~Nvml() = default;

std::expected<std::shared_ptr<const Nvml>, std::string> Nvml::open() {
    const auto library = Library::open("libnvidia-ml.so.1");
    if (!library) return std::unexpected(library.error());
    auto calls = std::make_unique<Calls>();
    if (const std::string missing = calls->bind(*library); !missing.empty())
        return std::unexpected(fmt::format(
            "libnvidia-ml.so.1 has no {}: the driver is too old, or this is not NVIDIA's library",
            missing));
    auto nvml = std::make_shared<const Nvml>(std::move(calls));
    if (const NvmlCode code = nvml->calls_->init(); code != success)
        return std::unexpected("NVML does not start: " + nvml->words_for(code));
    return nvml;
}

std::string Nvml::driver_version() const {
    if (calls_->driver_version == nullptr) return {};
    return text_from(calls_->driver_version).value_or("");
}

std::expected<std::uint32_t, NvmlCode> Nvml::count() const {
    std::uint32_t count = 0;
    if (const NvmlCode code = calls_->count(&count); code != success) return std::unexpected(code);
    return count;
}

std::expected<Gpu, NvmlCode> Nvml::gpu(std::uint32_t index) const {
    NvmlDevice device = nullptr;
    if (const NvmlCode code = calls_->by_index(index, &device); code != success)
        return std::unexpected(code);
    const auto text_of = [device](Calls::Text* call) {
        return text_from([=](char* text, std::uint32_t size) { return call(device, text, size); });
    };
    auto uuid = text_of(calls_->uuid);
    if (!uuid) return std::unexpected(uuid.error());
    const auto memory = memory_of(*calls_, device);
    if (!memory && memory.error() != not_supported) return std::unexpected(memory.error());
    NvmlPci pci{};
    if (calls_->pci == nullptr || calls_->pci(device, &pci) != success) pci = {};
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    return Gpu{.index = index,
               .uuid = std::move(*uuid),
               .name = text_of(calls_->name).value_or("GPU"),
               .memory_total = memory ? memory->total : Bytes{},  // 0 if it has none of its own
               .bus_id = pci.bus_id};
}

std::expected<GpuUsage, NvmlCode> Nvml::look(const std::string& uuid) const {
    NvmlDevice device = nullptr;
    if (const NvmlCode code = calls_->by_uuid(uuid.c_str(), &device); code != success)
        return std::unexpected(code);
    const auto memory = memory_of(*calls_, device);
    if (!memory && memory.error() != not_supported) return std::unexpected(memory.error());
    auto processes = processes_of(*calls_, device);
    if (!processes) return std::unexpected(processes.error());
    return GpuUsage{.memory_used = memory ? memory->used : Bytes{},
                    .processes = std::move(*processes)};
}

std::string Nvml::words_for(NvmlCode code) const {
    const auto words = [&](std::string_view text) {
        return fmt::format("{} ({})", text, std::to_underlying(code));
    };
    switch (code) {
        case success: return words("no error");
        case not_supported: return words("it is not supported here");
        case no_permission:
            return words("no permission; may this user open /dev/nvidiactl and /dev/nvidia0?");
        case not_found: return words("it is gone");
        case insufficient_size: return words("the list is too long");
        case driver_not_loaded: return words("the driver is not loaded; try: sudo modprobe nvidia");
        case gpu_is_lost: return words("it fell off the bus; reboot, and look at the kernel's log");
        case reset_required: return words("it needs a reset: sudo nvidia-smi --gpu-reset");
        case version_mismatch:
            return words(
                "the driver in the kernel and its libraries are of different versions; reboot");
    }
    const char* text = calls_->error_text == nullptr ? nullptr : calls_->error_text(code);
    return words(text == nullptr ? "an error without a name" : text);
}

}  // namespace turnpike
