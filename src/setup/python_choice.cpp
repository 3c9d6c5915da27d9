#include "setup/python_choice.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/model.h"

namespace turnpike {
namespace {

using Wrong = std::unexpected<std::string>;

/// Returns the path of a program on the PATH. Skips relative folders, since a worker runs in
/// another folder. Empty if the program is not found.
std::string find_on_path(std::string_view path, std::string_view name,
                         const IsProgram& is_program) {
    for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string_view folder = path.substr(begin, end - begin);
        std::string program = fmt::format("{}/{}", folder, name);
        if (folder.starts_with('/') && is_program(program)) return program;
        begin = end + 1;
    }
    return {};
}

/// A Python may have any name, but other programs seldom have "py" in theirs.
std::string_view doubt_that_it_is_python(const std::string& program) {
    return program.substr(program.rfind('/') + 1).contains("py") ? "" : "; is it a Python?";
}

std::expected<PythonChoice, std::string> configured_python(const std::string& said,
                                                           const PythonPlaces& places,
                                                           const IsProgram& is_program) {
    const bool by_name = is_looked_up(said);
    const std::string program = by_name ? find_on_path(places.path, said, is_program) : said;
    if (by_name && program.empty())
        return Wrong(fmt::format("there is no {} on the PATH; write ./{} for one in this folder",
                                 said, said));
    if (!by_name && is_program(program + "/bin/python"))
        return PythonChoice{.program = program + "/bin/python", .why = "as configured"};
    if (!by_name && !is_program(program))
        return Wrong(fmt::format("{} is not a program that can be run", program));
    return PythonChoice{.program = program,
                        .why = fmt::format("as configured{}", doubt_that_it_is_python(program))};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// A folder that may have a Python.
struct Place {
    std::string folder;  // empty if the variable is not set
    std::string why;
};

}  // namespace

std::expected<PythonChoice, std::string> choose_python(const WorkerConfig& worker,
                                                       const PythonPlaces& places,
                                                       const IsProgram& is_program) {
    if (!worker.python.empty()) return configured_python(worker.python, places, is_program);
    const std::array candidates{
        Place{places.virtual_env, "$VIRTUAL_ENV"},
        Place{folder_of(worker.model.path) + "/.venv", ".venv beside the model"},
        Place{places.conda_prefix, "$CONDA_PREFIX"}};
    std::vector<std::string> tried;
    std::string but;  // names earlier places without a Python, since the user may expect one there
    for (const auto& [folder, why] : candidates) {
        if (!folder.starts_with('/')) continue;
        std::string program = folder + "/bin/python";
        if (is_program(program)) return PythonChoice{std::move(program), why + but};
        if (why.starts_with('$') || places.has_venv) but += fmt::format("; {} has no Python", why);
        tried.push_back(std::move(program));
    }
    if (std::string program = find_on_path(places.path, "python3", is_program); !program.empty())
        return PythonChoice{std::move(program), "first python3 on the PATH" + but};
    return Wrong(
        fmt::format("there is no Python for the model: neither {} nor a python3 on the PATH; name "
                    "one with --python",
                    fmt::join(tried, " nor ")));
}

}  // namespace turnpike
