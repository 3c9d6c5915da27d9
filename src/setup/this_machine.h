// What this machine has for workers: its GPUs, as far as `up` may use them, and its Pythons.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "config/config.h"
#include "gpu/driver.h"
#include "setup/python_choice.h"

namespace turnpike {

/// Through a driver that may be looked at later; none: there are no GPUs, and the machine says why.
[[nodiscard]] Machine this_machine(std::optional<GpuDriver>& driver);

[[nodiscard]] std::expected<PythonChoice, std::string> this_python(const WorkerConfig& worker);

}  // namespace turnpike
