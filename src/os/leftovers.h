// What a dead gate left behind: processes that still carry its mark.
//
// Every process below a gate has TURNPIKE_RUN=FOLDER:ID in its environment: the gate's runtime folder,
// and an id of this very run, which says what process the gate is: should its folder be cleaned away,
// it lives all the same. Since programs may overwrite their environment (to change what ps
// shows), the gate also keeps a list of the processes that it knows in FOLDER/processes, by pid and
// start, and of their cgroups. Whoever is found by any of these, and whose folder no living gate holds, is a leftover.
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
    std::string folder;   // of the gate that left it
    std::string command;  // for people
};

/// The run that this gate is.
struct OwnRun {
    std::string folder;  // which we hold; empty: none
    std::string id;
};
/// PID-START-RANDOM, of this process.
[[nodiscard]] std::string fresh_run_id(std::uint64_t random);

/// Of gates of this user, in any folder of the place that nobody holds; in our own folder, of every
/// run but ours.
[[nodiscard]] std::vector<Leftover> find_leftovers(const RuntimePlace& place, const OwnRun& own);

/// Kills them, and what they start meanwhile, until none is found any more; those that are still there
/// after `patience` are given back.
[[nodiscard]] std::vector<Leftover> end_leftovers(const RuntimePlace& place, const OwnRun& own,
                                                  Duration patience);

/// The value of TURNPIKE_RUN.
[[nodiscard]] std::string mark_of(const OwnRun& run);

/// Writes FOLDER/processes anew, for the gate that this process is. Groups are cgroups.
struct KnownProcesses {
    std::vector<ProcessId> processes;
    std::vector<std::string> groups;
};
void write_known(const std::string& folder, const KnownProcesses& known);

}  // namespace turnpike
