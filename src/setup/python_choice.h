// Which Python a model runs with: the one that was said, or the one that whoever typed `up` would get.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "config/config.h"

namespace turnpike {

/// What the environment says; empty: nothing.
struct PythonPlaces {
    std::string virtual_env;
    std::string conda_prefix;
    std::string path;
    bool has_venv = false;  // there is a .venv beside the model, whatever is in it
};

struct PythonChoice {
    std::string program;  // absolute; a link of a virtual environment stays one
    std::string why;      // "first python3 of the PATH; $VIRTUAL_ENV has none"
    friend bool operator==(const PythonChoice&, const PythonChoice&) = default;
};

using IsProgram = std::function<bool(const std::string& path)>;

/// The one that was said must be there; a virtual environment's folder stands for its Python. Otherwise the first that is: of $VIRTUAL_ENV, of a .venv
/// beside the model, of $CONDA_PREFIX, of the PATH. An error says what was tried.
[[nodiscard]] std::expected<PythonChoice, std::string> choose_python(const WorkerConfig& worker,
                                                                     const PythonPlaces& places,
                                                                     const IsProgram& is_program);

}  // namespace turnpike
