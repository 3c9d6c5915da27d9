#include "gate/key_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace turnpike {
namespace {

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

KeyFile::KeyFile(std::string path, Need need)
    : path_(std::move(path)), required_(need == Need::required) {
    refresh();
}

std::expected<KeyFile::Version, std::string> KeyFile::version() const {
    struct stat info{};
    if (::stat(path_.c_str(), &info) == 0)
        return Version{.device = info.st_dev,
                       .inode = info.st_ino,
                       .size = static_cast<std::uint64_t>(info.st_size),
                       .modified_ns = nanoseconds(info.st_mtim),
                       .changed_ns = nanoseconds(info.st_ctim)};
    if (errno == ENOENT || errno == ENOTDIR) return Version{};
    return std::unexpected(path_ + ": can't stat it: " + std::strerror(errno));
}

bool KeyFile::refresh() {
    // The version is read before the file, so the next call sees a change in between.
    const auto version = this->version();
    if (!version) return fail(version.error());
    if (version_ == *version) return false;
    auto keys = read_keys(path_);
    if (!keys) return fail(std::move(keys).error());
    ring_ = KeyRing(std::move(*keys));
    if (!ring_.empty()) required_ = true;
    version_ = *version;
    problem_.clear();
    return true;
}

/// Requires keys from now on, because a file that can't be read probably has keys.
bool KeyFile::fail(std::string problem) {
    problem_ = std::move(problem);
    required_ = true;
    version_.reset();  // try again next time
    return false;
}

}  // namespace turnpike
