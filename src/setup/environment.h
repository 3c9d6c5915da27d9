// Where things are, as environment variables say. They are read here and nowhere else.
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

/// Returns where running gates are found (XDG_RUNTIME_DIR, TMPDIR).
[[nodiscard]] RuntimePlace runtime_place();

/// Returns the folder for temporary files (TMPDIR), /tmp if none is set.
[[nodiscard]] std::string temporary_folder();

/// Returns the path of the file with the API keys (XDG_CONFIG_HOME, HOME). An error says what to
/// set.
[[nodiscard]] std::expected<std::string, std::string> key_file();

/// Returns the folder where a gate of this name keeps what outlives it: `turnpike/NAME` in the
/// folder for state (XDG_STATE_HOME, HOME). Makes the folder if necessary, for its owner only. An
/// error says what to do.
[[nodiscard]] std::expected<std::string, std::string> state_folder(std::string_view name);

/// Returns the same path without making the folder. Empty if the variables name none.
[[nodiscard]] std::string state_place(std::string_view name);

/// Returns the same path for given values of the variables. A path that is not absolute counts as
/// unset. Empty if both are unset.
[[nodiscard]] std::string state_path(std::string_view xdg_state_home, std::string_view home,
                                     std::string_view name);

/// Makes a folder and its parents with mode 0700. A folder that exists must belong to this user,
/// and its mode becomes 0700. Returns an error message, or an empty string on success.
[[nodiscard]] std::string make_private_folder(const std::string& path);

/// Returns CUDA_VISIBLE_DEVICES, or nullopt if it is not set, which means all GPUs.
[[nodiscard]] std::optional<std::string> cuda_visible_devices();

/// Returns the path of a program on the PATH. Empty if it is not there.
[[nodiscard]] std::string program_on_path(std::string_view name);

/// True if the path is a file that this user may execute.
[[nodiscard]] bool is_program(const std::string& path);

/// Returns where to look for a Python (VIRTUAL_ENV, CONDA_PREFIX, PATH).
[[nodiscard]] PythonPlaces python_places();

/// Returns the present UTC offset of the local time zone.
[[nodiscard]] Duration utc_offset();

}  // namespace turnpike
