#include "setup/sdk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "os/file.h"
#include "setup/environment.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> write_file(const fs::path& path, std::string_view text) {
    if (std::string problem = make_private_folder(path.parent_path()); !problem.empty())
        return problem;
    const UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file && write_all(file.get(), text)) return std::nullopt;
    return fmt::format("{} can't be written: {}", path.string(), std::strerror(errno));
}

}  // namespace

std::optional<std::string> write_sdk(const std::string& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) return fmt::format("{} can't be removed: {}", folder, error.message());
    for (const SdkFile& file : sdk_files())
        if (auto problem = write_file(fs::path(folder) / file.path, file.text)) return problem;
    return std::nullopt;
}

void touch_sdk(const std::string& folder) {
    for (const SdkFile& file : sdk_files()) {
        const fs::path path = fs::path(folder) / file.path;
        ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
        ::utimensat(AT_FDCWD, path.parent_path().c_str(), nullptr, 0);
    }
}

}  // namespace turnpike
