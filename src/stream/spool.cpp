#include "stream/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace turnpike {

namespace {

/// Returns a descriptor, or -1 and sets errno.
int make_unnamed(const std::string& folder) {
    if (folder.empty()) return ::memfd_create("turnpike-body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
    std::string path = folder + "/turnpike-spool-XXXXXX";  // if the file system has no O_TMPFILE
    const int named = ::mkostemp(path.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(path.c_str());
    return named;
}

constexpr off_t large = 8 * 1024 * 1024;  // closing a larger file takes more than a millisecond

}  // namespace

SpoolFile::~SpoolFile() {
    struct stat facts{};
    if (file_ && ::fstat(file_.get(), &facts) == 0 && facts.st_size > large)
        close_in_background(std::move(file_));
}

std::uint64_t SpoolFile::room() const {
    constexpr std::uint64_t block_size = 512;  // of st_blocks, whatever the file system
    struct stat facts{};
    if (!file_ || ::fstat(file_.get(), &facts) != 0) return 0;
    return static_cast<std::uint64_t>(facts.st_blocks) * block_size;
}

/// Makes the file if there is none yet.
int SpoolFile::make(const std::string& folder) {
    if (!file_) file_ = UniqueFd(make_unnamed(folder));
    return file_ ? 0 : errno;
}

/// True if the file must grow to end at `end`, and the disk has no room for that besides `left`.
bool SpoolFile::would_crowd(std::uint64_t left, std::uint64_t end) const {
    struct stat facts{};
    struct statvfs disk{};
    if (left == 0 || ::fstat(file_.get(), &facts) != 0 || ::fstatvfs(file_.get(), &disk) != 0)
        return false;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    const bool is_limited = disk.f_blocks > 0;  // some file systems don't tell
    return size < end && is_limited && disk.f_bavail * disk.f_frsize < end - size + left;
}

int SpoolFile::write_leaving(std::uint64_t left, const std::string& folder, const char* bytes,
                             std::size_t size, std::uint64_t offset) {
    if (const int error = make(folder)) return error;
    return would_crowd(left, offset + size) ? ENOSPC : write(folder, bytes, size, offset);
}

int SpoolFile::write(const std::string& folder, const char* bytes, std::size_t size,
                     std::uint64_t offset) {
    if (const int error = make(folder)) return error;
    while (size > 0) {
        const ssize_t done = ::pwrite(file_.get(), bytes, size, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : ENOSPC;
        bytes += done;
        size -= static_cast<std::size_t>(done);
        offset += static_cast<std::uint64_t>(done);
    }
    return 0;
}

int SpoolFile::read(char* bytes, std::size_t size, std::uint64_t offset) {
    while (size > 0) {
        const ssize_t done = ::pread(file_.get(), bytes, size, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : EIO;
        bytes += done;
        size -= static_cast<std::size_t>(done);
        offset += static_cast<std::uint64_t>(done);
    }
    return 0;
}

int SpoolFile::seal() {
    constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    return ::fcntl(file_.get(), F_ADD_SEALS, all) == 0 ? 0 : errno;
}

int SpoolFile::copy_sealed(SpoolFile& copy, std::uint64_t size, std::size_t step) {
    std::string piece;
    for (std::uint64_t offset = 0; offset < size; offset += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(step, size - offset)));
        if (const int error = read(piece.data(), piece.size(), offset)) return error;
        if (const int error = copy.write({}, piece.data(), piece.size(), offset)) return error;
    }
    return copy.seal();
}

}  // namespace turnpike
