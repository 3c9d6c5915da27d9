// A store on a disk of a test's own, small enough to be overrun.
#pragma once

#include <sys/resource.h>

#include <csignal>
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

    /// From now on no file can be made. What is there stays usable.
    void take_away() { store.folder = folder.file("nowhere"); }

    /// All that was given to the disk is done, and its callers were told.
    void settle() {
        bool is_done = false;
        background.run([] { return 0; }, [&](int) { is_done = true; });
        EXPECT_TRUE(loop.run_until([&] { return is_done; }));
    }
};

/// As long as it lives, no file of this program grows beyond that.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t size) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{.rlim_cur = size, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit before_{};
};

/// Bytes in which every place can be told from its neighbours.
inline std::string numbered(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
    text.resize(size);
    return text;
}

}  // namespace turnpike
