// The guard: a small process above each worker, made of this same program, that ends everything the
// worker started.
//
//   gate ─control socket─ guard ── worker (a session of its own) ── whatever it starts
//
// It is the subreaper of all that: whoever loses its parent becomes the guard's child, so that when
// the guard has no child left, nothing is left. The socket is its death pipe, too: when the gate is
// gone, by whatever means, the guard ends the tree, and itself. A guard that is killed takes its worker
// along (parent-death signal); what else there was becomes the gate's (os/children.h).
//
// A warm start (supervisor/warm.h) makes the worker before the guard: it is a child of this process already
// when that becomes the guard, which then adopts it.
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

/// What the guard is told, as its arguments.
struct GuardOrders {
    std::string label;             // for people who look with ps: "lane 0"
    std::uint64_t open_files = 0;  // the worker's soft limit; 0: as the guard's
    std::string cgroup;            // the worker goes there; empty: there is none
    std::string folder;            // where the worker runs; empty: as the guard
    std::string command;           // for /bin/sh
    pid_t adopted = 0;             // the worker, which runs already; 0: the guard starts it
};
[[nodiscard]] std::vector<std::string> arguments_of(const GuardOrders& orders);

/// What it is asked, as one byte.
enum class GuardRequest : char {
    terminate = 't',  // SIGTERM to the worker's process group
    kill = 'k',       // SIGKILL to everything
};

/// What it says. Both ends are one program, so this is sent as it lies in memory.
struct GuardReport {
    enum class Kind : std::uint8_t {
        started,  // pid, start, guard
        failed,   // step, status (an errno): nothing runs
        exited,   // the worker ended: code, status, memory
        stuck,    // pid and text: it has survived SIGKILL for a while
        gone,     // nothing is left; pids: those that were last seen
    };
    enum class Step : std::uint8_t { fork, session, folder, exec };
    static constexpr std::size_t pids_max = 256;

    Kind kind = Kind::started;
    Step step = Step::fork;
    std::int32_t code = 0;  // of ExitStatus
    std::int32_t status = 0;
    std::int32_t pid = 0;
    std::int32_t guard = 0;
    std::uint32_t pid_count = 0;
    std::uint64_t start = 0;
    std::int64_t memory_peak_kib = 0;
    std::array<std::int32_t, pids_max> pids{};
    std::array<char, 16> name{};
};

/// What the worker's own socket is there, where it has one.
inline constexpr int link_descriptor = 3;

/// The guard's life. Descriptors: 0 is empty input, 1 and 2 the worker's output, 3 the control socket;
/// 4, if it is there, becomes the worker's link. Gives the exit code.
int run_guard(std::span<char* const> arguments);

}  // namespace turnpike
