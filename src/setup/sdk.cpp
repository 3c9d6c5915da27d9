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

/// True if it is ours, and a file or folder as it should be. A file that was cut short is not.
bool is_in_order(const fs::path& path, mode_t kind, std::size_t size) {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == kind &&
           found.st_uid == ::geteuid() &&
           (kind == S_IFDIR || static_cast<std::size_t>(found.st_size) == size);
}

/// Removes whatever is there unless it is a folder of ours. Returns an error message if it can't.
std::optional<std::string> clear_for_folder(const fs::path& path) {
    std::error_code error;
    if (!is_in_order(path, S_IFDIR, 0)) fs::remove_all(path, error);
    if (error) return fmt::format("{} can't be removed: {}", path.string(), error.message());
    return std::nullopt;
}

}  // namespace

std::optional<std::string> renew_sdk(const std::string& folder) {
    if (auto problem = clear_for_folder(folder)) return problem;
    for (const SdkFile& file : sdk_files()) {
        const fs::path path = fs::path(folder) / file.path;
        if (is_in_order(path, S_IFREG, file.text.size())) continue;
        for (fs::path parent = path.parent_path(); parent.string().size() > folder.size();
             parent = parent.parent_path())
            if (auto problem = clear_for_folder(parent)) return problem;
        std::error_code error;
        fs::remove_all(path, error);
        if (auto problem = write_file(path, file.text)) return problem;
    }
    return std::nullopt;
}

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
