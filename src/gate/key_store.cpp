#include "gate/key_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "os/file.h"

namespace turnpike {
namespace {

constexpr std::size_t file_bytes_max = 4 * std::size_t{1024} * 1024;
constexpr mode_t file_mode = 0600;
constexpr mode_t folder_mode = 0700;

std::unexpected<std::string> failed(const std::string& path, const char* doing) {
    return std::unexpected(path + ": can't " + doing + ": " + std::strerror(errno));
}

/// Returns why the file cannot be trusted. Empty if it can be trusted.
std::string why_untrusted(const struct stat& info) {
    if (!S_ISREG(info.st_mode)) return "is not a file";
    if (info.st_uid != ::geteuid()) return "belongs to another user";
    if ((info.st_mode & 0022U) != 0) return "can be written by others; chmod 600 it";
    return {};
}

/// Returns true if the folder now exists. Another process may have made it at the same time.
bool make_folder(const std::filesystem::path& folder) {
    return ::mkdir(folder.c_str(), folder_mode) == 0 || errno == EEXIST;
}

/// Makes every missing folder of the path, for its owner only.
bool make_folders(const std::filesystem::path& folder) {
    if (make_folder(folder)) return true;
    return errno == ENOENT && folder.has_relative_path() && make_folders(folder.parent_path()) &&
           make_folder(folder);
}

}  // namespace

std::expected<std::string, std::string> read_private_file(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::string();
    if (!file) return failed(path, "open it");
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return failed(path, "stat it");
    if (const std::string reason = why_untrusted(info); !reason.empty())
        return std::unexpected(path + ": " + reason);

    auto text = read_all(file.get(), file_bytes_max + 1);
    if (!text) return failed(path, "read it");
    if (text->size() > file_bytes_max) return std::unexpected(path + ": is too large");
    return *std::move(text);
}

std::expected<KeyStore, std::string> KeyStore::lock(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (!make_folders(folder)) return failed(folder, "make the folder");
    KeyStore store(path, UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (!store.folder_) return failed(folder, "open the folder");
    while (::flock(store.folder_.get(), LOCK_EX) != 0)
        if (errno != EINTR) return failed(folder, "lock the folder");
    return store;
}

std::expected<void, std::string> KeyStore::replace(std::string_view text) const {
    const std::string fresh = path_ + ".new";
    ::unlink(fresh.c_str());  // left by a process that was killed: with the lock, nobody uses it
    const UniqueFd file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode));
    if (!file) return failed(fresh, "make it");
    if (!write_all(file.get(), text) || ::fsync(file.get()) != 0 ||
        ::rename(fresh.c_str(), path_.c_str()) != 0) {
        auto problem = failed(path_, "write it");
        ::unlink(fresh.c_str());
        return problem;
    }
    if (::fsync(folder_.get()) != 0) return failed(path_, "sync its folder");
    return {};
}

}  // namespace turnpike
