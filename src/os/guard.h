// The guard: a small process above each worker, made of this same program. It ends everything that
// the worker started.
//
//   gate ─control socket─ guard ── worker (a session of its own) ── whatever it starts
//
// The guard is the subreaper of that tree: a process that loses its parent becomes the guard's
// child. So when the guard has no child left, no process is left. The control socket also tells the
// guard that the gate is gone, however it ended; the guard then ends the tree and itself. If a
// guard is killed, its worker dies with it (parent-death signal), and the rest of the tree becomes
// the gate's (os/children.h).
//
// A warm start (supervisor/process/warm.h) makes the worker before the guard: the parent of the
// worker then becomes the guard, and adopts the worker.
//
//   watching ─"kill", gate gone─▶ killing ─no child left─▶ exit
//      └────────worker gone, and no child left───────────────┘
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "os/process.h"

namespace turnpike {

inline constexpr const char* guard_word = "guard";  // turnpike guard …

/// What the guard gets as its command-line arguments.
struct GuardOrders {
    std::string label;             // shown by ps: "lane 0"
    std::uint64_t open_files = 0;  // the worker's soft limit; 0 means the guard's own
    std::string cgroup;            // the worker joins it; empty if there is none
    std::string folder;            // where the worker runs; empty for the guard's own folder
    std::string command;           // for /bin/sh
    pid_t adopted = 0;             // pid of a worker that runs already; 0 if the guard starts it
};
[[nodiscard]] std::vector<std::string> arguments_of(const GuardOrders& orders);

/// What the gate asks of the guard, as one byte.
enum class GuardRequest : char {
    terminate = 't',  // SIGTERM to the worker's process group
    kill = 'k',       // SIGKILL to everything
};

/// What the guard reports to the gate. Both are the same program, so the struct is sent as it is in
/// memory.
struct GuardReport {
    enum class Kind : std::uint8_t {
        started,  // the worker runs. Uses pid, start, guard
        failed,   // no worker runs. Uses step, status (an errno)
        exited,   // the worker ended. Uses code, status, pid, memory_peak_kib
        stuck,    // a process survives SIGKILL. Uses pid, name
        gone,     // no process is left. Uses pids: those that ended last
    };
    enum class Step : std::uint8_t { fork, session, folder, exec };
    static constexpr std::size_t pids_max = 256;

    Kind kind = Kind::started;
    Step step = Step::fork;
    std::int32_t code = 0;  // ExitStatus::code
    std::int32_t status = 0;
    std::int32_t pid = 0;
    std::int32_t guard = 0;
    std::uint32_t pid_count = 0;
    std::uint64_t start = 0;
    std::int64_t memory_peak_kib = 0;
    std::array<std::int32_t, pids_max> pids{};
    std::array<char, 16> name{};
};

/// The descriptor number of the worker's own socket in the worker, if it has one.
inline constexpr int link_descriptor = 3;

/// Runs the guard until its whole tree is gone, and returns the exit code. Descriptor 0 is an empty
/// input, 1 and 2 are the worker's output, 3 is the control socket. If 4 is open, it becomes the
/// worker's own socket.
int run_guard(std::span<char* const> arguments);

}  // namespace turnpike
