// Where a running gate and the other commands meet: a folder per gate, with its control socket, under
// a lock that lives as long as the gate does. The kernel drops the lock with the process, so a folder
// without a locked `lock` is a leftover, whatever else lies in it.
//
//     ROOT/            $XDG_RUNTIME_DIR/turnpike, or turnpike-UID in the temporary folder
//       NAME/lock      locked with flock(2); holds the gate's pid. Never removed: whoever opened it
//                      before would hold the lock of a file that nobody else sees
//       NAME/socket
//
// Folders are 0700 and ours, and symbolic links are refused, since anybody can write to /tmp.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace turnpike {

inline constexpr std::size_t socket_path_max = 107;  // of any Unix socket: sockaddr_un

struct RuntimePlace {
    std::string root;
};

/// Of the environment's values: `temporary` is TMPDIR. Paths that are not absolute count as unset.
[[nodiscard]] RuntimePlace runtime_root(const std::optional<std::string>& xdg_runtime_dir,
                                        const std::string& temporary, uid_t uid);

class RuntimeFolder {
public:
    /// Makes the folder if need be and takes its lock; what a dead gate left there is removed. An
    /// error is a sentence that says what to do.
    [[nodiscard]] static std::expected<RuntimeFolder, std::string> take(const RuntimePlace&,
                                                                        std::string_view name);

    RuntimeFolder(RuntimeFolder&&) = default;
    RuntimeFolder& operator=(RuntimeFolder&&) = delete;

    /// Removes the socket and gives the lock back. Does nothing in a forked child.
    ~RuntimeFolder();

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Now and then, for those who clean up what nobody has touched for days.
    void touch() const;
    /// The full path of a file in it, such as "socket".
    [[nodiscard]] std::string path_of(std::string_view file) const;

private:
    RuntimeFolder(std::string path, UniqueFd folder, UniqueFd lock);

    std::string path_;
    UniqueFd folder_;
    UniqueFd lock_;
    pid_t owner_;
};

struct RunningGate {
    std::string name;
    pid_t pid = 0;
    std::string folder;
};

/// By name. What is not safe to look into is left out, as it is not ours.
[[nodiscard]] std::vector<RunningGate> list_running(const RuntimePlace&);

}  // namespace turnpike
