// Spool files: room for bodies and answers that are too large for our own memory, on disk or (for
// native lanes) in a memfd. A file has no name, so it is gone with whoever holds it, also after
// kill -9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "os/background.h"
#include "os/file.h"

namespace turnpike {

/// Where the bytes of bodies and answers go. Disk is slow, so all of it happens on `disk`.
struct Store {
    Background& disk;
    std::string folder;  // empty: memory (a memfd), for the bodies of native lanes
    std::size_t memory_max = 1024 * 1024;       // of one body or answer
    std::size_t step = 256 * 1024;              // read or written at once
    std::size_t answer_max = 64 * 1024 * 1024;  // of one answer that waits for its client
};

/// A file that may not be there yet. Blocking: call it on the helper thread only.
class SpoolFile {
public:
    SpoolFile() = default;
    void adopt(UniqueFd file) { file_ = std::move(file); }
    /// May be anywhere: a large one is closed elsewhere.
    ~SpoolFile();
    SpoolFile(const SpoolFile&) = delete;
    SpoolFile& operator=(const SpoolFile&) = delete;

    /// All of it or an errno; makes the file in `folder` (empty: in memory) first, if need be.
    [[nodiscard]] int write(const std::string& folder, const char* bytes, std::size_t size,
                            std::uint64_t offset);
    [[nodiscard]] int read(char* bytes, std::size_t size, std::uint64_t offset);

    /// Nothing changes it any more, whoever has it. 0 or an errno; EINVAL: it is not in memory.
    [[nodiscard]] int seal();
    /// Makes `copy` a sealed one in memory, `step` bytes at a time.
    [[nodiscard]] int copy_sealed(SpoolFile& copy, std::uint64_t size, std::size_t step);
    [[nodiscard]] int descriptor() const { return file_.get(); }

private:
    UniqueFd file_;
};

}  // namespace turnpike
