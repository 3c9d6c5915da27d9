// The GPUs of this machine, as far as `up` may use them.
#pragma once

#include "gpu/gpu.h"

namespace turnpike {

[[nodiscard]] Machine this_machine();

}  // namespace turnpike
