#include "app/config_choice.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using Wrong = std::unexpected<std::string>;

constexpr std::string_view file_name = "turnpike.toml";
constexpr std::string_view worker_advice = "turnpike up --worker 'uvicorn app:app --port {port}'";
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

ConfigChoice config_choice(const std::optional<std::string>& said, const Flags& flags) {
    return {.said = said, .has_workers = flags.worker.has_value() || !flags.attach.empty()};
}

std::expected<std::optional<std::string>, std::string> choose_config(const ConfigChoice& choice,
                                                                     const std::string& folder) {
    std::error_code none;
    if (!choice.said) {
        if (choice.has_workers) return std::nullopt;
        const fs::path path = fs::path(folder) / file_name;
        if (fs::exists(path, none)) return path.string();
        return Wrong(fmt::format(
            "there is no {} {}: name a configuration, or workers to start or that run already:\n"
            "  {}\n  {}",
            file_name, where(folder), worker_advice, attach_advice));
    }
    const std::string& said = *choice.said;
    if (said.starts_with("http://") || said.starts_with("https://"))
        return Wrong(
            fmt::format("{} is no configuration; write --attach before each worker's URL", said));
    const fs::path path = fs::path(folder) / said;
    if (is_model(said, path))
        return Wrong(
            fmt::format("{}: serving a model by its file is not supported yet in this version; "
                        "give the command "
                        "of an HTTP server: {}",
                        said, worker_advice));
    if (!fs::is_directory(path, none)) return path.string();
    const fs::path inside = path / file_name;
    if (fs::exists(inside, none)) return inside.string();
    return Wrong(fmt::format("the folder {} holds no {}; `turnpike check --example` prints one",
                             said, file_name));
}

}  // namespace turnpike
