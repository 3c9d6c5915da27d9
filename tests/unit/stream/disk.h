// A store on a test's own disk, with small limits that a test can exceed.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>

#include "stream/spool.h"
#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {

struct Disk {
    TestLoop loop;
    TemporaryFolder folder;
    Background background{loop.context(), "test-disk"};
    Store store{.disk = background,
                .folder = folder.file(""),
                .memory_max = 100,
                .step = 30,
                .answer_max = 200};

    /// From now on no file can be made. Existing files stay usable.
    void remove_folder() { store.folder = folder.file("nowhere"); }

    /// Waits until the disk has done everything so far, and its callers were told.
    void settle() {
        bool is_done = false;
        background.run([] { return 0; }, [&](int) { is_done = true; });
        EXPECT_TRUE(loop.run_until([&] { return is_done; }));
    }
};

/// Limits a resource of this process as long as the object lives.
class Limit {
public:
    Limit(__rlimit_resource_t what, rlim_t most) : what_(what) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(what_, &before_);
        const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(what_, &limit), 0);
    }
    ~Limit() { ::setrlimit(what_, &before_); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

private:
    const __rlimit_resource_t what_;
    rlimit before_{};
};

/// Limits the size of files.
struct FileSizeLimit : Limit {
    explicit FileSizeLimit(rlim_t size) : Limit(RLIMIT_FSIZE, size) {}
};

/// Returns how many open files of this process have a name with that prefix.
inline int open_files(std::string_view prefix) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.starts_with(prefix)) ++found;
    }
    return found;
}

/// Empties every open file of this process in that folder, as a failing disk would.
inline void truncate_open_files(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::filesystem::path target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.string().starts_with(folder) && !std::filesystem::is_directory(target, gone))
            std::filesystem::resize_file(entry.path(), 0);
    }
}

/// Returns text in which each part differs from its neighbours.
inline std::string numbered(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
    text.resize(size);
    return text;
}

}  // namespace turnpike
