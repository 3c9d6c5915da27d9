#include "app/config_choice.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/environment.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using Wrong = std::unexpected<std::string>;

constexpr std::string_view file_name = "turnpike.toml";
constexpr std::string_view model_name = "model.py";
constexpr std::string_view what_it_may_be =
    "a Python file (model.py, model.py:Name, app.py:app), a program, a turnpike.toml, or a folder "
    "with a turnpike.toml or a model.py";
constexpr std::string_view advice =
    "  turnpike up model.py\n"
    "  turnpike up app.py:app\n"
    "  turnpike up --worker 'uvicorn app:app --port {port}'\n"
    "  turnpike up --attach http://127.0.0.1:8001";

/// model.py, model.py:Class, app.py:app. Whether it is right is for the config to say.
bool is_python(std::string_view said) { return said.ends_with(".py") || said.contains(".py:"); }

/// What a folder is there for; neither: for something else.
ChosenConfig found_in(const fs::path& folder) {
    std::error_code none;
    if (fs::exists(folder / file_name, none)) return {.file = folder / file_name, .model = {}};
    if (fs::exists(folder / model_name, none)) return {.file = {}, .model = folder / model_name};
    return {};
}

std::expected<ChosenConfig, std::string> chosen_here(const std::string& folder) {
    ChosenConfig found = found_in(folder);
    if (found != ChosenConfig{}) return found;
    return Wrong(fmt::format(
        "there is no {} and no {} {}: name a configuration or a model, or workers to start or that "
        "run already:\n{}",
        file_name, model_name, folder.empty() ? "here" : "in " + folder, advice));
}

std::expected<ChosenConfig, std::string> chosen_in(const fs::path& folder,
                                                   const std::string& said) {
    ChosenConfig found = found_in(folder);
    if (found != ChosenConfig{}) return found;
    return Wrong(
        fmt::format("the folder {} holds no {} and no {}; `turnpike check --example` "
                    "prints a configuration",
                    said, file_name, model_name));
}

}  // namespace

ConfigChoice config_choice(const std::optional<std::string>& said, const Flags& flags) {
    return {.said = said, .has_workers = flags.worker.has_value() || !flags.attach.empty()};
}

std::expected<ChosenConfig, std::string> choose_config(const ConfigChoice& choice,
                                                       const std::string& folder) {
    if (!choice.said) return choice.has_workers ? ChosenConfig{} : chosen_here(folder);
    const std::string& said = *choice.said;
    if (said.starts_with("http://") || said.starts_with("https://"))
        return Wrong(
            fmt::format("{} is no configuration; write --attach before each worker's URL", said));
    const fs::path path = fs::path(folder) / said;
    std::error_code none;
    const fs::file_status found = fs::status(path, none);
    if (is_python(said)) return ChosenConfig{.file = {}, .model = path};
    if (fs::is_directory(found)) return chosen_in(path, said);
    if (said.ends_with(".toml")) return ChosenConfig{.file = path, .model = {}};
    if (is_program(path)) return ChosenConfig{.file = {}, .model = path};
    if (!fs::exists(found))
        return Wrong(fmt::format("there is no {}; name {}", said, what_it_may_be));
    if (fs::is_regular_file(found))
        return Wrong(fmt::format("{} is not executable, and neither a .py nor a .toml; name {}",
                                 said, what_it_may_be));
    return ChosenConfig{.file = path, .model = {}};  // a pipe
}

}  // namespace turnpike
