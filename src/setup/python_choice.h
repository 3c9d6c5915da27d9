// Chooses the Python that a model runs with: the configured one, or the one that a shell would find
// for the person who typed `up`.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "config/config.h"

namespace turnpike {

/// What the environment says. A string is empty if its variable is not set.
struct PythonPlaces {
    std::string virtual_env;
    std::string conda_prefix;
    std::string path;
    bool has_venv = false;  // a .venv exists beside the model, with or without a Python in it
};

struct PythonChoice {
    std::string program;  // absolute; a virtual environment's symbolic link is not resolved
    std::string why;      // "first python3 on the PATH; $VIRTUAL_ENV has no Python"
    friend bool operator==(const PythonChoice&, const PythonChoice&) = default;
};

using IsProgram = std::function<bool(const std::string& path)>;

/// Returns the configured Python, which must exist; the folder of a virtual environment stands for
/// its Python. If none is configured, returns the first that exists in $VIRTUAL_ENV, in a .venv
/// beside the model, in $CONDA_PREFIX or on the PATH. An error says what was tried.
[[nodiscard]] std::expected<PythonChoice, std::string> choose_python(const WorkerConfig& worker,
                                                                     const PythonPlaces& places,
                                                                     const IsProgram& is_program);

}  // namespace turnpike
