// What the environment says about where things are. Read here and nowhere else.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "os/runtime_folder.h"

namespace turnpike {

/// Where running gates are found (XDG_RUNTIME_DIR, TMPDIR).
[[nodiscard]] RuntimePlace runtime_place();

/// The file of API keys (XDG_CONFIG_HOME, HOME). An error says what to set.
[[nodiscard]] std::expected<std::string, std::string> key_file();

/// Which GPUs the caller lets us see (CUDA_VISIBLE_DEVICES); nothing: not set, which means all.
[[nodiscard]] std::optional<std::string> cuda_visible_devices();

/// Where that program is, by PATH; empty: nowhere.
[[nodiscard]] std::string program_on_path(std::string_view name);

/// For text on stdout: it is a terminal that has some, and NO_COLOR is unset or empty.
[[nodiscard]] bool wants_colours();

/// Of the local time zone, now.
[[nodiscard]] Duration utc_offset();

}  // namespace turnpike
