// What the environment says about where things are. Read here and nowhere else.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "os/runtime_folder.h"
#include "setup/python_choice.h"

namespace turnpike {

/// Where running gates are found (XDG_RUNTIME_DIR, TMPDIR).
[[nodiscard]] RuntimePlace runtime_place();

/// The file of API keys (XDG_CONFIG_HOME, HOME). An error says what to set.
[[nodiscard]] std::expected<std::string, std::string> key_file();

/// Where a gate of this name keeps what outlives it: `turnpike/NAME` in the folder for state
/// (XDG_STATE_HOME, HOME), made if need be, for its owner only. An error says what to do.
[[nodiscard]] std::expected<std::string, std::string> state_folder(std::string_view name);

/// The same, but nothing is made; empty: there is none.
[[nodiscard]] std::string state_place(std::string_view name);

/// The same of the environment's values. Paths that are not absolute count as
/// unset; empty: there is none.
[[nodiscard]] std::string state_path(std::string_view xdg_state_home, std::string_view home,
                                     std::string_view name);

/// Makes a folder and those above it, 0700; one that is there must be the owner's and becomes 0700.
/// "": it is done; else a sentence.
[[nodiscard]] std::string make_private_folder(const std::string& path);

/// Which GPUs the caller lets us see (CUDA_VISIBLE_DEVICES); nothing: not set, which means all.
[[nodiscard]] std::optional<std::string> cuda_visible_devices();

/// Where that program is, by PATH; empty: nowhere.
[[nodiscard]] std::string program_on_path(std::string_view name);

/// A file that may be run.
[[nodiscard]] bool is_program(const std::string& path);

/// Where a Python may be (VIRTUAL_ENV, CONDA_PREFIX, PATH).
[[nodiscard]] PythonPlaces python_places();

/// Of the local time zone, now.
[[nodiscard]] Duration utc_offset();

}  // namespace turnpike
