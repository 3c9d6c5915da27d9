// Spool files hold bodies and answers that are too large for our own memory. They are on disk or,
// for native lanes, in a memfd. A file has no name, so it is gone when its last owner is gone, even
// after kill -9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "os/background.h"
#include "os/file.h"

namespace turnpike {

/// Where large bodies and answers are kept. The disk is slow, so only the thread of `disk` uses it.
struct Store {
    Background& disk;
    std::string folder;                    // empty for memfds, which the bodies of native lanes use
    std::size_t memory_max = 1024 * 1024;  // for one body or answer
    std::size_t step = 256 * 1024;         // bytes to read or write at once
    std::size_t answer_max = 64 * 1024 * 1024;  // for one answer that waits for its client
    std::uint64_t left_for_bodies = 0;          // room on the disk that answers don't take
};

/// A file that is made by the first write. Its functions block, so they must be called on the disk
/// thread only.
class SpoolFile {
public:
    SpoolFile() = default;
    void adopt(UniqueFd file) { file_ = std::move(file); }
    /// May run on any thread: if the file is large, another thread closes it.
    ~SpoolFile();
    SpoolFile(const SpoolFile&) = delete;
    SpoolFile& operator=(const SpoolFile&) = delete;

    /// Writes all bytes and returns 0, or returns an errno. Makes the file first if needed: in
    /// `folder`, or in memory if `folder` is empty.
    [[nodiscard]] int write(const std::string& folder, const char* bytes, std::size_t size,
                            std::uint64_t offset);
    /// Does the same, but if the file would grow, and less than `left` bytes of the disk would be free
    /// then, returns ENOSPC and writes nothing.
    [[nodiscard]] int write_leaving(std::uint64_t left, const std::string& folder,
                                    const char* bytes, std::size_t size, std::uint64_t offset);
    [[nodiscard]] int read(char* bytes, std::size_t size, std::uint64_t offset);

    /// Seals the file, so that nobody can change it any more. Returns 0 or an errno, which is
    /// EINVAL if the file is not in memory.
    [[nodiscard]] int seal();
    /// Copies the file to `copy`, in memory and sealed, `step` bytes at a time. Returns 0 or an
    /// errno.
    [[nodiscard]] int copy_sealed(SpoolFile& copy, std::uint64_t size, std::size_t step);
    [[nodiscard]] int descriptor() const { return file_.get(); }
    /// Returns how much room the file takes. Its holes take none. Does not block.
    [[nodiscard]] std::uint64_t room() const;

private:
    [[nodiscard]] int make(const std::string& folder);
    [[nodiscard]] bool would_crowd(std::uint64_t left, std::uint64_t end) const;

    UniqueFd file_;
};

}  // namespace turnpike
