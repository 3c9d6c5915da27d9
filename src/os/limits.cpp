#include "os/limits.h"

#include <dirent.h>
#include <sys/resource.h>

#include <memory>

namespace turnpike {

OpenFiles raise_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    const OpenFiles before{.before = limit.rlim_cur, .now = limit.rlim_cur};
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
    return {.before = before.before, .now = limit.rlim_cur};
}

std::uint64_t count_open_files() {
    std::uint64_t count = 0;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
        if (entry->d_name[0] != '.') ++count;
    return count > 0 ? count - 1 : 0;  // the folder itself
}

}  // namespace turnpike
