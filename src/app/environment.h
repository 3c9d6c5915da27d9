// What the environment says: the only place where it is read.
#pragma once

#include <string>

#include "base/time.h"
#include "os/runtime_folder.h"

namespace turnpike {

[[nodiscard]] RuntimePlace runtime_place();
[[nodiscard]] std::string key_file_path();
/// Of the local time zone, now.
[[nodiscard]] Duration utc_offset();

}  // namespace turnpike
