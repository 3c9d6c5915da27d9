#include "os/spare_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unique_part = "XXXXXX";  // mkdtemp() replaces it
constexpr std::string_view lock_name = "/lock";

std::string prefix_of_user() { return "turnpike-" + std::to_string(::geteuid()) + '-'; }

/// Returns the lock if nobody has it. Empty if somebody has it, or if there is no such file.
UniqueFd take_lock(const std::string& folder, int flags) {
    UniqueFd lock(::open((folder + std::string(lock_name)).c_str(),
                         O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
    return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(lock) : UniqueFd();
}

bool is_own_folder(const std::string& path) {
    struct stat facts{};
    return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
           facts.st_uid == ::geteuid();
}

std::vector<std::string> spares_in(const std::string& parent) {
    const std::string prefix = prefix_of_user();
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with(prefix) && name.size() == prefix.size() + unique_part.size() &&
            is_own_folder(at->path().string()))
            found.push_back(at->path().string());
    }
    return found;
}

}  // namespace

std::expected<SpareFolder, int> SpareFolder::make(const std::string& parent) {
    std::string path = parent + '/' + prefix_of_user() + std::string(unique_part);
    if (::mkdtemp(path.data()) == nullptr) return std::unexpected(errno);
    UniqueFd lock = take_lock(path, O_CREAT);
    if (!lock) {
        const int error = errno;
        ::rmdir(path.c_str());
        return std::unexpected(error);
    }
    return SpareFolder(std::move(path), std::move(lock));
}

SpareFolder::SpareFolder(std::string path, UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)), owner_(::getpid()) {}

SpareFolder::~SpareFolder() {
    std::error_code ignored;
    if (lock_ && owner_ == ::getpid()) fs::remove_all(path_, ignored);
}

/// A folder without a lock is being made at this moment, or was not made by a gate.
void remove_abandoned_spares(const std::string& parent) {
    for (const std::string& path : spares_in(parent)) {
        std::error_code ignored;
        if (const UniqueFd lock = take_lock(path, 0)) fs::remove_all(path, ignored);
    }
}

}  // namespace turnpike
