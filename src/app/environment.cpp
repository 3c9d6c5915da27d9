#include "app/environment.h"

#include <unistd.h>

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
