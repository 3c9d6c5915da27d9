// The GPUs of this machine, as the driver shows them: through NVML; where that is not to be had, the
// CUDA driver lists them, but can't be looked at. Neither is linked: both are opened at run time.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/nvml.h"
#include "gpu/usage.h"

namespace turnpike {

class GpuDriver {
public:
    /// Takes a while; to be called before this process has other threads. An error is one sentence
    /// for people that says why there is no GPU.
    [[nodiscard]] static std::expected<GpuDriver, std::string> open();

    /// "580.65.06"; without NVML "CUDA 12.4".
    [[nodiscard]] const std::string& version() const { return version_; }
    /// By index. At least one.
    [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
    /// GPUs that are there and can't be used: a sentence each.
    [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

    /// Whether look() can ever tell anything: there is NVML.
    [[nodiscard]] bool can_look() const { return nvml_ != nullptr; }
    /// Slow, and may hang: to be called on another thread, with a copy of this driver.
    [[nodiscard]] std::expected<GpuUsage, GpuFailure> look(const std::string& uuid) const;

private:
    GpuDriver() = default;
    static std::expected<GpuDriver, std::string> by_nvml(std::shared_ptr<const Nvml> nvml);
    static std::expected<GpuDriver, std::string> by_cuda(const std::string& why_not_nvml);

    std::shared_ptr<const Nvml> nvml_;
    std::string version_;
    std::vector<Gpu> gpus_;
    std::vector<std::string> troubles_;
};

/// What there is to serve on: the driver's GPUs as far as the caller's own CUDA_VISIBLE_DEVICES
/// allows them.
[[nodiscard]] Machine machine_from(const std::expected<GpuDriver, std::string>& driver,
                                   const std::optional<std::string>& cuda_visible_devices);

}  // namespace turnpike
