// The limits that the system sets for one process.
#pragma once

#include <cstdint>

namespace turnpike {

struct OpenFiles {
    std::uint64_t before = 0;
    std::uint64_t now = 0;
};
/// Raises the soft limit of open files to the hard limit (the usual soft limit, 1024, is for
/// programs that still use select). Returns both values. Children must get the old soft limit,
/// `before`.
OpenFiles raise_open_files();

/// Returns how many descriptors this process has open.
[[nodiscard]] std::uint64_t count_open_files();

}  // namespace turnpike
