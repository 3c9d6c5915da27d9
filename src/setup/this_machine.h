// What this machine has for workers: the GPUs that `up` may use, and a Python.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "config/config.h"
#include "gpu/driver.h"
#include "setup/python_choice.h"

namespace turnpike {

/// Returns the machine's GPUs and leaves the open driver in `driver`. If no driver can be opened,
/// there are no GPUs, and the machine says why.
[[nodiscard]] Machine this_machine(std::optional<GpuDriver>& driver);

/// Returns the Python for a model, chosen by this process's environment. An error says what was
/// tried.
[[nodiscard]] std::expected<PythonChoice, std::string> this_python(const WorkerConfig& worker);

}  // namespace turnpike
