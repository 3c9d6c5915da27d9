// NVML, NVIDIA's library for looking at GPUs, as far as we use it: bound at run time, by its stable
// binary interface, with the older names of a call where a driver lacks the newest.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "gpu/gpu.h"
#include "gpu/usage.h"

namespace turnpike {

/// What a call of NVML returns. Those that we decide on.
enum class NvmlCode : int {
    success = 0,
    not_supported = 3,
    no_permission = 4,
    not_found = 6,
    insufficient_size = 7,
    driver_not_loaded = 9,
    gpu_is_lost = 15,
    reset_required = 16,
    version_mismatch = 18,
};

class Nvml {
public:
    /// An error is a sentence for people. Never shut down: the process's end does that, also while a
    /// call hangs.
    [[nodiscard]] static std::expected<std::shared_ptr<const Nvml>, std::string> open();

    /// Empty if it does not say.
    [[nodiscard]] std::string driver_version() const;
    [[nodiscard]] std::expected<std::uint32_t, NvmlCode> count() const;
    [[nodiscard]] std::expected<Gpu, NvmlCode> gpu(std::uint32_t index) const;
    /// Also of a MIG device. Any thread may call it; it may hang.
    [[nodiscard]] std::expected<GpuUsage, NvmlCode> look(const std::string& uuid) const;

    /// "the driver is not loaded (9)"
    [[nodiscard]] std::string words_for(NvmlCode code) const;

    struct Calls;
    explicit Nvml(std::unique_ptr<const Calls> calls);
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

private:
    std::unique_ptr<const Calls> calls_;
};

}  // namespace turnpike
