// Where the other commands find a running gate: each gate has a folder with its control socket and
// a lock that the gate holds as long as it runs. The kernel releases the lock when the process
// ends, so a folder whose `lock` is not locked is a leftover, whatever else it contains.
//
//     ROOT/            $XDG_RUNTIME_DIR/turnpike, or turnpike-UID in the temporary folder
//       NAME/lock      locked with flock(2); contains the gate's pid. We never remove it: a process
//                      that opened it before could then lock a file that nobody else can find
//       NAME/socket
//
// Folders must be ours with mode 0700, and symbolic links are refused, since anybody can write to
// /tmp.
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

inline constexpr std::size_t socket_path_max = 107;  // of any Unix socket (sockaddr_un)

struct RuntimePlace {
    std::string root;
};

/// Chooses the root from values of the environment: `temporary` is TMPDIR. Relative paths count as
/// unset.
[[nodiscard]] RuntimePlace runtime_root(const std::optional<std::string>& xdg_runtime_dir,
                                        const std::string& temporary, uid_t uid);

class RuntimeFolder {
public:
    /// Makes the folder if it is missing, takes its lock, and removes the socket of a dead gate.
    /// The error is a message that says what to do.
    [[nodiscard]] static std::expected<RuntimeFolder, std::string> take(const RuntimePlace&,
                                                                        std::string_view name);

    RuntimeFolder(RuntimeFolder&&) = default;
    RuntimeFolder& operator=(RuntimeFolder&&) = delete;

    /// Removes the socket and releases the lock. Does nothing in a forked child.
    ~RuntimeFolder();

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Updates the times of the files. Must be called now and then, because some systems remove
    /// files that nobody has touched for days.
    void touch() const;
    /// Returns the full path of a file in the folder, such as "socket".
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

/// Returns the running gates, sorted by name. Folders that are not safe to open are not ours, so
/// they are left out.
[[nodiscard]] std::vector<RunningGate> list_running(const RuntimePlace&);

}  // namespace turnpike
