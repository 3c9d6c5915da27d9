// What a dead gate left behind: processes that still carry its mark.
//
// Every process below a gate has TURNPIKE_RUN=FOLDER:ID in its environment: the gate's runtime
// folder and the id of this run. The id names the gate's process, so we see that a gate still runs
// even if its folder was cleaned away. Programs may overwrite their environment (to change what ps
// shows), so the gate also lists the processes that it knows (pid and start) and their cgroups in
// FOLDER/processes. A process that is found in any of these ways, and whose folder no running gate
// holds, is a leftover.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "os/process.h"
#include "os/runtime_folder.h"

namespace turnpike {

inline constexpr const char* run_variable = "TURNPIKE_RUN";

struct Leftover {
    ProcessId id;
    std::string folder;   // runtime folder of the gate that left it
    std::string command;  // for people
};

/// Identifies the run of this gate.
struct OwnRun {
    std::string folder;  // the runtime folder that we hold; empty if none
    std::string id;
};
/// Returns PID-START-RANDOM, with the pid and start of this process.
[[nodiscard]] std::string fresh_run_id(std::uint64_t random);

/// Returns the processes that dead gates of this user left: those of every folder that no gate
/// holds and, in our own folder, those of every run but ours.
[[nodiscard]] std::vector<Leftover> find_leftovers(const RuntimePlace& place, const OwnRun& own);

/// Kills the leftovers, and what they start meanwhile, until none is found any more. Returns those
/// that still run after `patience`.
[[nodiscard]] std::vector<Leftover> end_leftovers(const RuntimePlace& place, const OwnRun& own,
                                                  Duration patience);

/// Returns the value of TURNPIKE_RUN.
[[nodiscard]] std::string mark_of(const OwnRun& run);

struct KnownProcesses {
    std::vector<ProcessId> processes;
    std::vector<std::string> groups;  // cgroups
};
/// True if FOLDER/processes is there.
[[nodiscard]] bool are_processes_written(const std::string& folder);
/// Replaces FOLDER/processes. The file names this process as the gate.
void write_known(const std::string& folder, const KnownProcesses& known);

}  // namespace turnpike
