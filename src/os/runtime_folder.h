// Where the other commands find a running gate: each gate has a folder with its control socket and
// a lock that the gate holds as long as it runs. The kernel releases the lock when the process
// ends, so a folder whose `lock` is not locked is a leftover, whatever else it contains.
//
//     ROOT/            $XDG_RUNTIME_DIR/turnpike, or turnpike-UID in the temporary folder
//       NAME/lock      locked with flock(2); contains the gate's pid. We never remove it: a process
//                      that opened it before could then lock a file that nobody else can find
//       NAME/socket
//
// The folder may be removed while the gate runs. So the gate also holds an abstract name
// (os/gate_name.h), by which it is found without the folder, and looks after the folder: renew()
// makes it anew.
//
// Folders must be ours with mode 0700, and symbolic links are refused, since anybody can write to
// /tmp.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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

    enum class Renewal : std::uint8_t { not_needed, made_anew };
    /// Makes the folder and the lock anew if they are gone or were replaced. Returns an error message
    /// if that is not possible, for example because another gate has the lock now.
    [[nodiscard]] std::expected<Renewal, std::string> renew();

    /// Returns a copy of the listening socket with the gate's abstract name. Empty if the gate has
    /// no such name.
    [[nodiscard]] UniqueFd named_socket() const;

    /// Removes the socket and releases the lock. Does nothing in a forked child.
    ~RuntimeFolder();

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Updates the times of the files. Must be called now and then, because some systems remove
    /// files that nobody has touched for days.
    void touch() const;
    /// Returns the full path of a file in the folder, such as "socket".
    [[nodiscard]] std::string path_of(std::string_view file) const;

private:
    struct Held {
        UniqueFd folder;
        UniqueFd lock;
    };
    RuntimeFolder(RuntimePlace place, std::string_view name, Held held, UniqueFd named);
    [[nodiscard]] static std::expected<Held, std::string> hold(const RuntimePlace& place,
                                                               std::string_view name, int tries);
    [[nodiscard]] bool is_in_place() const;

    RuntimePlace place_;
    std::string name_;
    std::string path_;
    UniqueFd folder_;
    UniqueFd lock_;
    UniqueFd named_;  // the socket with the abstract name
    pid_t owner_;
};

struct RunningGate {
    std::string name;
    pid_t pid = 0;
    std::string folder;
    std::string socket;  // its path, or its abstract name (@…)
};

/// Returns the running gates, sorted by name: those whose folders are locked, and those that hold
/// their abstract names. Folders that are not safe to open are not ours, so they are left out.
[[nodiscard]] std::vector<RunningGate> list_running(const RuntimePlace&);

}  // namespace turnpike
