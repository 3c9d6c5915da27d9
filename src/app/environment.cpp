#include "app/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
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

std::expected<std::string, std::string> state_folder(const std::string& name) {
    const std::string given = text_of_variable("XDG_STATE_HOME");
    const std::string home = text_of_variable("HOME");
    if (!given.starts_with('/') && !home.starts_with('/'))
        return std::unexpected("nobody says where logs are kept: set HOME or XDG_STATE_HOME");
    const std::string path =
        (given.starts_with('/') ? given : home + "/.local/state") + "/turnpike/" + name;
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
            return std::unexpected(part + " can't be made: " + std::strerror(errno));
    }
    return path;
}

bool wants_live_lines() {
    const std::string kind = text_of_variable("TERM");
    return ::isatty(STDERR_FILENO) == 1 && !kind.empty() && kind != "dumb";
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
