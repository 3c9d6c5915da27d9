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

}  // namespace

RuntimePlace runtime_place() {
    return runtime_root(variable("XDG_RUNTIME_DIR"), variable("TMPDIR").value_or("/tmp"),
                        ::geteuid());
}

std::string key_file_path() {
    return keys_path(variable("XDG_CONFIG_HOME").value_or(""), variable("HOME").value_or(""));
}

Duration utc_offset() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return std::chrono::seconds(local.tm_gmtoff);
}

}  // namespace turnpike
