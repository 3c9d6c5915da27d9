// The part of NVML, NVIDIA's library for watching GPUs, that we use. It is loaded at run time
// through its stable binary interface. If a driver lacks the newest version of a call, an older one
// is used.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "gpu/gpu.h"
#include "gpu/usage.h"

namespace turnpike {

/// What a call of NVML returns. Only the codes that we handle are named here; others may come.
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
    /// Loads and starts NVML. The error is a sentence for people. We never shut NVML down, because
    /// another call may hang in it; it goes with the process.
    [[nodiscard]] static std::expected<std::shared_ptr<const Nvml>, std::string> open();

    /// Returns the driver's version. Empty if the driver does not report it.
    [[nodiscard]] std::string driver_version() const;
    [[nodiscard]] std::expected<std::uint32_t, NvmlCode> count() const;
    [[nodiscard]] std::expected<Gpu, NvmlCode> gpu(std::uint32_t index) const;
    /// Returns how a GPU or MIG device is used now. May hang. Any thread may call it.
    [[nodiscard]] std::expected<GpuUsage, NvmlCode> look(const std::string& uuid) const;

    /// Returns words for people, such as "the driver is not loaded (9)".
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
