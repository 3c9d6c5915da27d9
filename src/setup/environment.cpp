#include "setup/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/name.h"
#include "gate/keys.h"
#include "os/file.h"

namespace turnpike {
namespace {

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string text_of_variable(const char* name) { return variable(name).value_or(""); }

}  // namespace

RuntimePlace runtime_place() {
    return runtime_root(variable("XDG_RUNTIME_DIR"), text_of_variable("TMPDIR"), ::geteuid());
}

std::string temporary_folder() {
    std::string folder = text_of_variable("TMPDIR");
    return folder.starts_with('/') ? folder : "/tmp";
}

std::expected<std::string, std::string> key_file() {
    std::string path = keys_path(text_of_variable("XDG_CONFIG_HOME"), text_of_variable("HOME"));
    if (path.empty())
        return std::unexpected("the folder for API keys is not known: set HOME or XDG_CONFIG_HOME");
    return path;
}

std::string state_path(std::string_view xdg_state_home, std::string_view home,
                       std::string_view name) {
    const std::string mine = "/turnpike/" + std::string(name);
    if (xdg_state_home.starts_with('/')) return std::string(xdg_state_home) + mine;
    return home.starts_with('/') ? std::string(home) + "/.local/state" + mine : std::string();
}

std::string make_private_folder(const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR)
            return fmt::format("the folder {} can't be made: {}", part, std::strerror(errno));
        if (end == std::string::npos) break;
    }
    const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat found{};
    if (!folder || ::fstat(folder.get(), &found) != 0)
        return fmt::format("the folder {} can't be used: {}", path, std::strerror(errno));
    if (found.st_uid != ::geteuid())
        return fmt::format("the folder {} belongs to user {}", path, found.st_uid);
    if ((found.st_mode & 0777) != 0700 && ::fchmod(folder.get(), 0700) != 0)
        return fmt::format("the folder {} can't be made private: {}", path, std::strerror(errno));
    return "";
}

std::string state_place(std::string_view name) {
    if (!is_name(name)) return "";
    return state_path(text_of_variable("XDG_STATE_HOME"), text_of_variable("HOME"), name);
}

std::expected<std::string, std::string> state_folder(std::string_view name) {
    std::string path = state_place(name);
    if (path.empty()) return std::unexpected("set HOME or XDG_STATE_HOME to an absolute path");
    std::string problem = make_private_folder(path);
    if (!problem.empty())
        return std::unexpected(std::move(problem) + "; XDG_STATE_HOME can name another place");
    return path;
}

std::optional<std::string> cuda_visible_devices() { return variable("CUDA_VISIBLE_DEVICES"); }

std::string program_on_path(std::string_view name) {
    const std::string folders = text_of_variable("PATH");
    for (std::size_t begin = 0; begin < folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        std::string path = folders.substr(begin, end - begin) + '/' + std::string(name);
        if (end > begin && ::access(path.c_str(), X_OK) == 0) return path;
        begin = end + 1;
    }
    return {};
}

bool is_program(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

PythonPlaces python_places() {
    return {.virtual_env = text_of_variable("VIRTUAL_ENV"),
            .conda_prefix = text_of_variable("CONDA_PREFIX"),
            .path = text_of_variable("PATH")};
}

Duration utc_offset() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return std::chrono::seconds(local.tm_gmtoff);
}

}  // namespace turnpike
