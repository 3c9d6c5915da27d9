// The processes of this machine. The kernel reuses pids, so a process is identified by its pid and
// its start time, and signals are sent through a pidfd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"
#include "os/shortage.h"

namespace turnpike {

struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start = 0;  // clock ticks since boot
    friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct ProcessFacts {
    ProcessId id;
    pid_t parent = 0;
    char state = '?';  // as the kernel shows it; Z is a zombie
    std::string name;  // as the kernel shows it, at most 15 bytes
};

/// Returns the facts about a process, or nullopt if there is none with this pid.
[[nodiscard]] std::optional<ProcessFacts> read_process(pid_t pid);

/// Returns every process that we can see, including zombies. Some are missing if the gate is short of
/// descriptors or memory.
[[nodiscard]] std::vector<ProcessFacts> list_processes();

/// Returns the same, or the shortage that kept us from seeing some of them.
[[nodiscard]] std::expected<std::vector<ProcessFacts>, Shortage> try_list_processes();

/// Returns the processes below `root`, in whatever session, without `root` itself. Leaves out the
/// processes in `except` and everything below them.
[[nodiscard]] std::vector<ProcessFacts> descendants_of(pid_t root,
                                                       std::span<const ProcessFacts> all,
                                                       std::span<const pid_t> except = {});

/// Returns the children of this thread, including zombies; for a subreaper also the orphans below
/// it. It is quick enough to catch processes that fork and end faster than list_processes() can
/// list them. The pids can't be reused as long as no other code waits for children. Empty if there
/// are none, or if the kernel does not list them.
[[nodiscard]] std::vector<pid_t> own_children();

/// Returns a pidfd for the process. Empty if the process is gone, even if another process has its
/// pid now.
[[nodiscard]] UniqueFd hold_process(const ProcessId& id);

/// Returns false if the process is gone or we may not send it signals.
bool send_signal(const UniqueFd& pidfd, int signal);
bool send_signal(const ProcessId& id, int signal);

/// Returns a variable of the environment that the process had when its program began. Nullopt if it
/// is not set or not readable.
[[nodiscard]] std::optional<std::string> variable_of(pid_t pid, std::string_view name);

/// Returns the arguments of the process with spaces between them, at most `max` bytes. If it has no
/// arguments, returns its name.
[[nodiscard]] std::string command_of(pid_t pid, std::size_t max = 200);

/// How a process ended: si_code and si_status of a siginfo.
struct ExitStatus {
    int code = 0;    // CLD_EXITED, CLD_KILLED, CLD_DUMPED; 0 if unknown
    int status = 0;  // the exit code, or the signal
};
/// Returns "exit code 1" or "killed by SIGKILL".
[[nodiscard]] std::string words_for(const ExitStatus& exit);

}  // namespace turnpike
