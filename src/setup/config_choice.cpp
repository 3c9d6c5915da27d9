#include "setup/config_choice.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/model.h"
#include "setup/environment.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using Wrong = std::unexpected<std::string>;

constexpr std::string_view file_name = "turnpike.toml";
constexpr std::string_view model_name = "model.py";
constexpr std::string_view allowed_models =
    "a Python file (model.py, model.py:Name, app.py:app), a program, a turnpike.toml, or a folder "
    "with a turnpike.toml or a model.py";
constexpr std::string_view advice =
    "  turnpike up model.py\n"
    "  turnpike up app.py:app\n"
    "  turnpike up --worker 'uvicorn app:app --port {port}'\n"
    "  turnpike up --attach http://127.0.0.1:8001";

/// True for model.py, model.py:Class and app.py:app. The configuration checks later whether they
/// exist.
bool is_python(std::string_view said) { return said.ends_with(".py") || said.contains(".py:"); }

/// Returns the configuration or the model in a folder. Both are empty if the folder has neither.
ChosenConfig found_in(const fs::path& folder) {
    std::error_code none;
    if (fs::exists(folder / file_name, none)) return {.file = folder / file_name, .model = {}};
    if (fs::exists(folder / model_name, none)) return {.file = {}, .model = folder / model_name};
    return {};
}

/// Returns "did you mean net.py?" or "did you mean one of site/a.py, site/b.py?". Empty if the
/// folder has no Python files, or more than three.
std::string suggestion_from(const fs::path& folder, const fs::path& said) {
    constexpr std::size_t asked_max = 3;
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const fs::path name = entry->path().filename();
        if (name.extension() == ".py" && name != "__init__.py" && name != "setup.py")
            files.push_back((said / name).string());
    }
    std::ranges::sort(files);
    if (files.empty() || files.size() > asked_max) return "";
    return fmt::format("did you mean {}{}?", files.size() == 1 ? "" : "one of ",
                       fmt::join(files, ", "));
}

std::expected<ChosenConfig, std::string> chosen_here(const std::string& folder) {
    ChosenConfig found = found_in(folder);
    if (found != ChosenConfig{}) return found;
    const std::string question = suggestion_from(folder.empty() ? "." : folder, "");
    return Wrong(
        fmt::format("there is no {} and no {} {}{}\nName a model, a configuration, or workers:\n{}",
                    file_name, model_name, folder.empty() ? "here" : "in " + folder,
                    question.empty() ? "." : "; " + question, advice));
}

std::expected<ChosenConfig, std::string> chosen_in(const fs::path& folder,
                                                   const std::string& said) {
    ChosenConfig found = found_in(folder);
    if (found != ChosenConfig{}) return found;
    const std::string question = suggestion_from(folder, said);
    return Wrong(fmt::format(
        "the folder {} holds no {} and no {}; {}", said, file_name, model_name,
        question.empty() ? "`turnpike check --example` prints a configuration" : question));
}

/// Returns the file that was probably meant by a path that does not exist: "model.py:Name" for
/// "model:Name", "sub/model.py" for "sub.model". Empty if no file is similar.
std::string nearest_file_to(const std::string& said, const fs::path& folder) {
    const std::size_t colon = std::min(said.rfind(':'), said.size());
    std::string file = said.substr(0, colon);
    std::error_code none;
    std::string as_path = file;
    std::ranges::replace(as_path, '.', '/');
    if (fs::exists(folder / (as_path + ".py"), none)) return as_path + ".py" + said.substr(colon);
    const std::string near = python_file_near((folder / file).string());
    if (near.empty()) return "";
    return fs::path(file).replace_filename(fs::path(near).filename()).string() + said.substr(colon);
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
            fmt::format("{} is a URL; write --attach before the URL of each worker", said));
    const fs::path path = fs::path(folder) / said;
    std::error_code none;
    const fs::file_status found = fs::status(path, none);
    if (is_python(said)) return ChosenConfig{.file = {}, .model = path};
    if (fs::is_directory(found)) return chosen_in(path, said);
    if (said.ends_with(".ipynb"))
        return Wrong(
            fmt::format("{} is a notebook, but a model is a Python file; run: jupyter nbconvert "
                        "--to script {}, and "
                        "keep what predict needs",
                        said, said));
    if (said.ends_with(".toml")) return ChosenConfig{.file = path, .model = {}};
    if (is_program(path)) return ChosenConfig{.file = {}, .model = path};
    if (!fs::exists(found)) {
        const std::string meant = nearest_file_to(said, folder);
        if (!meant.empty())
            return Wrong(fmt::format("there is no {}; did you mean {}?", said, meant));
        return Wrong(fmt::format("there is no {}; name {}", said, allowed_models));
    }
    if (fs::is_regular_file(found))
        return Wrong(
            fmt::format("{} is neither an executable program nor a .py or .toml file; name {}",
                        said, allowed_models));
    return ChosenConfig{.file = path, .model = {}};  // a pipe
}

}  // namespace turnpike
