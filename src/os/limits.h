// What the system lets one process have.
#pragma once

#include <cstdint>

namespace turnpike {

/// Takes as many open files as the hard limit allows (the usual soft one, 1024, is for programs that
/// still use select), and says how many that is. Children must go back to what was before.
struct OpenFiles {
    std::uint64_t before = 0;
    std::uint64_t now = 0;
};
OpenFiles raise_open_files();

}  // namespace turnpike
