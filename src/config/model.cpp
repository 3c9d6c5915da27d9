#include "config/model.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "config/nearest.h"
#include "config/text.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view python_ending = ".py";
constexpr std::size_t names_max = 10'000;  // files that are compared with a misspelt name

/// Accepts every byte beyond ASCII: Python allows letters of all scripts, and checks them itself.
bool is_identifier(std::string_view name) {
    constexpr std::string_view digits = "0123456789";
    if (name.empty() || digits.contains(name.front())) return false;
    for (const char c : name) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        const bool is_beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
        if (!is_letter && !is_beyond_ascii && !digits.contains(c)) return false;
    }
    return true;
}

std::string absolute(const std::string& path, const std::string& folder) {
    std::error_code error;
    const auto whole = fs::absolute(fs::path(folder) / path, error);
    return error ? path : whole.lexically_normal().string();
}

bool can_be_run(const fs::file_status& file) {
    constexpr auto any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    return (file.permissions() & any) != fs::perms::none;
}

}  // namespace

std::expected<ModelChoice, std::string> parse_model(std::string_view text) {
    if (text.empty()) return ModelChoice{};
    if (std::string problem = problem_with_line(text, Bytes{4096}); !problem.empty())
        return std::unexpected(std::move(problem));
    ModelChoice model{.kind = ModelChoice::Kind::program,
                      .path = std::string(text),
                      .name = {},
                      .text = std::string(text)};
    const std::size_t colon = text.rfind(':');
    const bool has_name = colon != std::string_view::npos && !text.ends_with(python_ending) &&
                          text.substr(0, colon).ends_with(python_ending);
    if (!has_name && !text.ends_with(python_ending)) return model;
    model.kind = ModelChoice::Kind::python;
    if (!has_name) return model;
    model.path = text.substr(0, colon);
    model.name = text.substr(colon + 1);
    if (!is_identifier(model.name))
        return std::unexpected("must have the name of a class or an object after the colon; " +
                               turnpike::in_quotes(model.name) + " is not a valid name");
    return model;
}

bool is_looked_up(std::string_view program) { return !program.contains('/'); }

void make_absolute(WorkerConfig& worker, const std::string& folder) {
    if (worker.model.kind != ModelChoice::Kind::none)
        worker.model.path = absolute(worker.model.path, folder);
    if (!is_looked_up(worker.python)) worker.python = absolute(worker.python, folder);
}

std::string python_file_near(const std::string& path) {
    const fs::path wanted(path);
    std::error_code error;
    std::vector<std::string> names;
    const fs::path folder = wanted.parent_path();
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
         !error && entry != end && names.size() < names_max; entry.increment(error))
        if (entry->path().extension() == python_ending)
            names.push_back(entry->path().filename().string());
    std::ranges::sort(names);  // a folder has no order of its own
    const std::string whole = wanted.filename().string() + std::string(python_ending);
    const std::string near = std::ranges::binary_search(names, whole)
                                 ? whole
                                 : nearest(wanted.filename().string(), names);
    return near.empty() ? "" : (folder / near).string();
}

std::string problem_with_file(const ModelChoice& model) {
    const bool is_python = model.kind == ModelChoice::Kind::python;
    std::error_code error;
    const fs::file_status file = fs::status(model.path, error);
    if (!fs::exists(file)) {
        const std::string near = is_python ? python_file_near(model.path) : "";
        return "can't be used: " + model.path + ": " + error.message() +
               (is_python ? ""
                          : "; a model is a Python file (model.py, model.py:Name) or a program") +
               (near.empty() ? "" : "; did you mean " + near + "?");
    }
    if (fs::is_directory(file))
        return "is a folder; a model is a Python file (model.py) or a program";
    if (!fs::is_regular_file(file)) return "is not a regular file";
    if (is_python && !std::ifstream(model.path)) return "can't be read; check its permissions";
    if (!is_python && !can_be_run(file))
        return "is neither a Python file (its name does not end in .py) nor a program: it is not "
               "executable (chmod +x?)";
    return "";
}

}  // namespace turnpike
