// The GPUs of this machine, as NVML shows them. If NVML does not work, the CUDA driver lists the
// GPUs, but then look() can't show how they are used. Neither library is linked: both are opened at
// run time.
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
    /// Opens the driver and lists the GPUs, which takes a while. Must be called before this process
    /// has other threads. The error is a sentence for people that says why there is no GPU.
    [[nodiscard]] static std::expected<GpuDriver, std::string> open();

    /// Returns the driver's version, such as "580.65.06". Without NVML, returns "CUDA 12.4".
    [[nodiscard]] const std::string& version() const { return version_; }
    /// Returns at least one GPU, sorted by index.
    [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
    /// Returns a sentence for each problem: a GPU that can't be used, or NVML that does not work.
    [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

    /// True if look() works at all, which needs NVML.
    [[nodiscard]] bool can_look() const { return nvml_ != nullptr; }
    /// Returns how a GPU is used now. Slow, and may hang: must be called on another thread, with a
    /// copy of this driver.
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

/// Returns the GPUs to serve on: those of the driver that the caller's own CUDA_VISIBLE_DEVICES
/// allows.
[[nodiscard]] Machine machine_from(const std::expected<GpuDriver, std::string>& driver,
                                   const std::optional<std::string>& cuda_visible_devices);

}  // namespace turnpike
