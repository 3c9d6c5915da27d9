#include "app/config_choice.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using Wrong = std::unexpected<std::string>;

constexpr std::string_view file_name = "turnpike.toml";
constexpr std::string_view attach_advice = "turnpike up --attach http://127.0.0.1:8001";

/// model.py, model.py:Class, app.py:app, or a program: later versions start them.
bool is_model(std::string_view said, const fs::path& path) {
    if (said.ends_with(".py") || said.contains(".py:")) return true;
    std::error_code none;
    const fs::perms perms = fs::status(path, none).permissions();
    return !said.ends_with(".toml") && fs::is_regular_file(path, none) &&
           (perms & fs::perms::owner_exec) != fs::perms::none;
}

std::string where(const std::string& folder) { return folder.empty() ? "here" : "in " + folder; }

}  // namespace

std::expected<std::optional<std::string>, std::string> choose_config(const ConfigChoice& choice,
                                                                     const std::string& folder) {
    std::error_code none;
    if (!choice.said) {
        if (choice.attaches) return std::nullopt;
        const fs::path path = fs::path(folder) / file_name;
        if (fs::exists(path, none)) return path.string();
        return Wrong(fmt::format("there is no {} {}: name a configuration, or workers that run: {}",
                                 file_name, where(folder), attach_advice));
    }
    const std::string& said = *choice.said;
    if (said.starts_with("http://") || said.starts_with("https://"))
        return Wrong(
            fmt::format("{} is no configuration; write --attach before each worker's URL", said));
    const fs::path path = fs::path(folder) / said;
    if (is_model(said, path))
        return Wrong(fmt::format(
            "{}: starting a model is not supported yet in this version; start it yourself and use "
            "--attach: {}",
            said, attach_advice));
    if (!fs::is_directory(path, none)) return path.string();
    const fs::path inside = path / file_name;
    if (fs::exists(inside, none)) return inside.string();
    return Wrong(fmt::format("the folder {} holds no {}; `turnpike check --example` prints one",
                             said, file_name));
}

}  // namespace turnpike
