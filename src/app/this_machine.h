// The GPUs of this machine, as far as `up` may use them.
#pragma once

#include <optional>

#include "gpu/driver.h"

namespace turnpike {

/// Through a driver that may be looked at later; none: there are no GPUs, and the machine says why.
[[nodiscard]] Machine this_machine(std::optional<GpuDriver>& driver);

}  // namespace turnpike
