#include "os/limits.h"

#include <sys/resource.h>

namespace turnpike {

OpenFiles raise_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    const OpenFiles before{.before = limit.rlim_cur, .now = limit.rlim_cur};
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
    return {.before = before.before, .now = limit.rlim_cur};
}

}  // namespace turnpike
