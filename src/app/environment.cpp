#include "app/environment.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "gate/keys.h"

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

std::expected<std::string, std::string> key_file() {
    std::string path = keys_path(text_of_variable("XDG_CONFIG_HOME"), text_of_variable("HOME"));
    if (path.empty())
        return std::unexpected("nobody says where API keys are kept: set HOME or XDG_CONFIG_HOME");
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

bool wants_colours() {
    return ::isatty(STDOUT_FILENO) == 1 && text_of_variable("NO_COLOR").empty() &&
           text_of_variable("TERM") != "dumb";
}

Duration utc_offset() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return std::chrono::seconds(local.tm_gmtoff);
}

}  // namespace turnpike
