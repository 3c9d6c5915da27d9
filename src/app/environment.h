// What the environment says about where things are. Read here and nowhere else.
#pragma once

#include <expected>
#include <string>

#include "base/time.h"
#include "os/runtime_folder.h"

namespace turnpike {

/// Where running gates are found (XDG_RUNTIME_DIR, TMPDIR).
[[nodiscard]] RuntimePlace runtime_place();

/// The file of API keys (XDG_CONFIG_HOME, HOME). An error says what to set.
[[nodiscard]] std::expected<std::string, std::string> key_file();

/// Where a gate of this name keeps what outlives it: logs (XDG_STATE_HOME, HOME). Made if need be,
/// for its owner alone. An error says what to do.
[[nodiscard]] std::expected<std::string, std::string> state_folder(const std::string& name);

/// For text on stdout: it is a terminal that has some, and NO_COLOR is unset or empty.
[[nodiscard]] bool wants_colours();

/// Whether stderr is a terminal on which lines can be drawn anew.
[[nodiscard]] bool wants_live_lines();

/// Of the local time zone, now.
[[nodiscard]] Duration utc_offset();

}  // namespace turnpike
