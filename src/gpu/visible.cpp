#include "gpu/visible.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace turnpike {
namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::optional<Gpu> by_index(const std::vector<Gpu>& gpus, std::string_view entry) {
    std::uint32_t index = 0;
    const char* end = entry.data() + entry.size();
    const auto parsed = std::from_chars(entry.data(), end, index);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    const auto found = std::ranges::find(gpus, index, &Gpu::index);
    return found == gpus.end() ? std::nullopt : std::optional(*found);
}

/// Returns the GPU whose UUID begins with the entry. Nullopt if there is none, or more than one.
std::optional<Gpu> by_uuid(const std::vector<Gpu>& gpus, std::string_view entry) {
    const auto begins_so = [&](const Gpu& gpu) { return gpu.uuid.starts_with(entry); };
    if (std::ranges::count_if(gpus, begins_so) != 1) return std::nullopt;
    return *std::ranges::find_if(gpus, begins_so);
}

std::optional<Gpu> named(const std::vector<Gpu>& gpus, std::string_view entry) {
    if (entry.starts_with("MIG-"))  // NVML lists them separately; CUDA uses this name
        return Gpu{.uuid = std::string(entry), .name = "MIG device"};
    return entry.starts_with("GPU-") ? by_uuid(gpus, entry) : by_index(gpus, entry);
}

}  // namespace

Machine visible_machine(const std::vector<Gpu>& gpus,
                        const std::optional<std::string>& cuda_visible_devices) {
    if (!cuda_visible_devices) return {.gpus = gpus, .no_gpus = {}, .remark = {}};
    const std::string shown = fmt::format("CUDA_VISIBLE_DEVICES=\"{}\"", *cuda_visible_devices);
    Machine machine;
    std::string_view rest = *cuda_visible_devices;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        more = comma != std::string_view::npos;
        const std::string_view entry = trimmed(rest.substr(0, comma));
        const auto gpu = named(gpus, entry);
        if (!gpu) {
            machine.remark =
                fmt::format("{}: \"{}\" names no GPU, so CUDA ignores it and every entry after it",
                            shown, entry);
            break;
        }
        if (std::ranges::find(machine.gpus, gpu->uuid, &Gpu::uuid) == machine.gpus.end())
            machine.gpus.push_back(*gpu);
        if (more) rest.remove_prefix(comma + 1);
    }
    if (machine.gpus.empty())
        machine.no_gpus = fmt::format("{} hides all {} of them", shown, gpus.size());
    if (machine.gpus.empty()) machine.remark.clear();
    return machine;
}

}  // namespace turnpike
