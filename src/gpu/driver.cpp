#include "gpu/driver.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "gpu/cuda.h"
#include "gpu/visible.h"

namespace turnpike {

std::expected<GpuDriver, std::string> GpuDriver::open() {
    auto nvml = Nvml::open();
    return nvml ? by_nvml(std::move(*nvml)) : by_cuda(nvml.error());
}

std::expected<GpuDriver, std::string> GpuDriver::by_nvml(std::shared_ptr<const Nvml> nvml) {
    const auto count = nvml->count();
    if (!count)
        return std::unexpected("NVML can't count the GPUs: " + nvml->words_for(count.error()));
    GpuDriver driver;
    for (std::uint32_t index = 0; index < *count; ++index) {
        auto gpu = nvml->gpu(index);
        if (gpu)
            driver.gpus_.push_back(std::move(*gpu));
        else
            driver.troubles_.push_back(
                fmt::format("GPU {} can't be used: {}", index, nvml->words_for(gpu.error())));
    }
    if (driver.gpus_.empty())
        return std::unexpected(driver.troubles_.empty()
                                   ? "the NVIDIA driver works and finds no GPU"
                                   : fmt::format("{}", fmt::join(driver.troubles_, "; ")));
    driver.version_ = nvml->driver_version();
    driver.nvml_ = std::move(nvml);
    return driver;
}

std::expected<GpuDriver, std::string> GpuDriver::by_cuda(const std::string& why_not_nvml) {
    auto listing = list_by_cuda();
    // NVML's reason says more: what keeps NVML from working keeps CUDA from working, too.
    if (!listing || listing->gpus.empty()) return std::unexpected(why_not_nvml);
    GpuDriver driver;
    driver.version_ = version_text(*listing);
    driver.gpus_ = std::move(listing->gpus);
    driver.troubles_.push_back(
        fmt::format("{}; so it is not known who holds memory on a GPU", why_not_nvml));
    return driver;
}

std::expected<GpuUsage, GpuFailure> GpuDriver::look(const std::string& uuid) const {
    if (nvml_ == nullptr) return std::unexpected(GpuFailure::unknown);
    auto usage = nvml_->look(uuid);
    if (usage) return std::move(*usage);
    const NvmlCode code = usage.error();
    const bool was_there = std::ranges::find(gpus_, uuid, &Gpu::uuid) != gpus_.end();
    const bool is_lost = code == NvmlCode::gpu_is_lost || code == NvmlCode::reset_required ||
                         (code == NvmlCode::not_found && was_there);
    return std::unexpected(is_lost ? GpuFailure::lost : GpuFailure::unknown);
}

Machine machine_from(const std::expected<GpuDriver, std::string>& driver,
                     const std::optional<std::string>& cuda_visible_devices) {
    if (!driver) return {.gpus = {}, .no_gpus = driver.error(), .remark = {}};
    return visible_machine(driver->gpus(), cuda_visible_devices);
}

}  // namespace turnpike
