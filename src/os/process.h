// The processes of this machine. A pid alone may be another process's by the time one looks again: a
// process is its pid and its start, and signals go through a pidfd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace turnpike {

struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start = 0;  // clock ticks since boot
    friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct ProcessFacts {
    ProcessId id;
    pid_t parent = 0;
    char state = '?';  // Z: it has ended, and its parent has not looked yet
    std::string name;  // as the kernel shows it, at most 15 bytes
};

/// Nothing: there is no such process.
[[nodiscard]] std::optional<ProcessFacts> read_process(pid_t pid);

/// All that can be seen, zombies too.
[[nodiscard]] std::vector<ProcessFacts> list_processes();

/// Those below `root`, whatever their session; `root` itself is not among them. What is below one of
/// `except` is left out, and so are these.
[[nodiscard]] std::vector<ProcessFacts> descendants_of(pid_t root,
                                                       std::span<const ProcessFacts> all,
                                                       std::span<const pid_t> except = {});

/// Of this thread, zombies too; below a subreaper everybody who loses their parent is among them. Quick:
/// it meets also those who fork and end faster than one can look at all. As long as nobody else waits
/// for children, their pids are their own. Empty also where the kernel does not tell.
[[nodiscard]] std::vector<pid_t> own_children();

/// Holds on to a process; nothing: it is gone, or another one has its pid.
[[nodiscard]] UniqueFd hold_process(const ProcessId& id);

/// False: it is gone, or it may not be signalled.
bool send_signal(const UniqueFd& pidfd, int signal);
bool send_signal(const ProcessId& id, int signal);

/// Of a process's environment as it was when its program began. Nothing: not set, or not readable.
[[nodiscard]] std::optional<std::string> variable_of(pid_t pid, std::string_view name);

/// Its arguments with spaces between, at most `max` bytes; its name where there are none.
[[nodiscard]] std::string command_of(pid_t pid, std::size_t max = 200);

/// "exit code 1", "killed by SIGKILL": from a siginfo's si_code and si_status.
struct ExitStatus {
    int code = 0;    // CLD_EXITED, CLD_KILLED, CLD_DUMPED; 0: nobody saw it
    int status = 0;  // the exit code, or the signal
};
[[nodiscard]] std::string words_for(const ExitStatus& exit);

}  // namespace turnpike
