#include "telemetry/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace turnpike {
namespace {

constexpr mode_t permission_bits = 0777;

/// Returns the permission bits that the file must not have.
mode_t denied_bits(const LogFile& where) {
    return where.readers == LogFile::Readers::owner ? 0077 : 0007;
}

std::string why(const char* doing, const std::string& path, int error) {
    return std::string("can't ") + doing + " " + path + ": " + std::strerror(error);
}

/// Returns a descriptor, or -1 and sets errno. Does not wait: a pipe that nobody reads is an error.
int open_to_append(const LogFile& where) {
    return ::open(where.path.c_str(),
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                  0640U & ~denied_bits(where));
}

/// Like ::write, but tries again after EINTR.
ssize_t write_once(int fd, std::string_view text) {
    ssize_t count;
    do count = ::write(fd, text.data(), text.size());
    while (count < 0 && errno == EINTR);
    return count;
}

}  // namespace

// ── a file that rotates ──────────────────────────────────────────────────────────────────────────

std::expected<RotatingFile, std::string> RotatingFile::open(LogFile where) {
    if (where.size_max < LogFile::size_least)
        return std::unexpected(where.path + ": a log file needs room for at least " +
                               std::to_string(LogFile::size_least.count) + " bytes");
    if (where.keep > LogFile::keep_max)
        return std::unexpected(where.path + ": at most " + std::to_string(LogFile::keep_max) +
                               " old log files can be kept");
    const int fd = open_to_append(where);
    if (fd < 0) return std::unexpected(why("open the log", where.path, errno));
    RotatingFile file(std::move(where), fd);
    struct stat info{};
    if (::fstat(fd, &info) != 0) return std::unexpected(why("look at the log", file.name(), errno));
    file.can_rotate_ = S_ISREG(info.st_mode);
    if (!file.can_rotate_) return file;
    file.size_ = static_cast<std::uint64_t>(info.st_size);
    const mode_t denied = denied_bits(file.where_);
    if ((info.st_mode & denied) != 0 && ::fchmod(fd, info.st_mode & permission_bits & ~denied) != 0)
        return std::unexpected(why("keep others from reading the log", file.name(), errno));
    return file;
}

RotatingFile::RotatingFile(RotatingFile&& other) noexcept
    : where_(std::move(other.where_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      can_rotate_(other.can_rotate_),
      rotation_problem_(std::move(other.rotation_problem_)) {}

RotatingFile::~RotatingFile() {
    if (fd_ >= 0) ::close(fd_);
}

LogWritten RotatingFile::write(std::string_view text) {
    LogWritten result;
    while (result.bytes < text.size()) {
        const std::string_view rest = text.substr(result.bytes);
        const std::size_t size = fitting(rest);
        if (size == 0) {
            rotate();
            continue;
        }
        const ssize_t count = write_once(fd_, rest.substr(0, size));
        if (count < 0) {
            result.error = errno;
            break;
        }
        result.bytes += static_cast<std::size_t>(count);
        size_ += static_cast<std::uint64_t>(count);
    }
    return result;
}

/// Returns the size of the lines that still fit into this file, or 0 if the file must be rotated
/// first. A fresh file takes at least one line, so rotating always helps.
std::size_t RotatingFile::fitting(std::string_view text) const {
    if (!can_rotate_) return text.size();
    const std::uint64_t room = where_.size_max.count - std::min(size_, where_.size_max.count);
    if (text.size() <= room) return text.size();
    const std::size_t last = text.substr(0, static_cast<std::size_t>(room)).rfind('\n');
    if (last != std::string_view::npos) return last + 1;
    return size_ == 0 ? text.find('\n') + 1 : 0;
}

/// Renames the file and opens a new one. If that fails, lines still go into the open file, and the
/// next try comes after another size_max bytes.
void RotatingFile::rotate() {
    size_ = 0;
    rotation_problem_.clear();
    const auto name = [&](std::uint32_t age) {
        return age == 0 ? where_.path : where_.path + "." + std::to_string(age);
    };
    if (where_.keep == 0 && ::unlink(where_.path.c_str()) != 0 && errno != ENOENT) {
        rotation_problem_ = why("remove the old log", where_.path, errno);
        return;
    }
    for (std::uint32_t age = where_.keep; age > 0; --age)
        if (::rename(name(age - 1).c_str(), name(age).c_str()) != 0 && errno != ENOENT) {
            rotation_problem_ = why("rotate the log", name(age - 1), errno);
            return;  // going on would overwrite what could not be moved
        }

    const int fresh = open_to_append(where_);
    if (fresh < 0) {
        rotation_problem_ = why("open the log after rotating", where_.path, errno);
        return;
    }
    ::close(std::exchange(fd_, fresh));
}

// ── a descriptor that is not ours ────────────────────────────────────────────────────────────────

LogWritten BorrowedDescriptor::write(std::string_view text) {
    // A pipe that poll() reports as writable takes this much without blocking.
    constexpr std::size_t bytes_at_once = 4096;
    LogWritten result;
    while (result.bytes < text.size()) {
        pollfd asked{.fd = where_.fd, .events = POLLOUT, .revents = 0};
        if (::poll(&asked, 1, 0) == 0) {
            result.error = EAGAIN;
            break;
        }
        const ssize_t count = write_once(where_.fd, text.substr(result.bytes, bytes_at_once));
        if (count < 0) {
            result.error = errno;
            break;
        }
        result.bytes += static_cast<std::size_t>(count);
    }
    return result;
}

}  // namespace turnpike
