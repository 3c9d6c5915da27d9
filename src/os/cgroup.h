// cgroup v2, if we may use it: one group per worker. Killing a group ends all its processes at
// once, even those that fork as fast as they are killed. Optional: without cgroups the guard's own
// search for processes does the same.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace turnpike {

/// Returns the folder in which we may make groups. Nullopt if there is no cgroup v2, or no
/// permission to use it, which is usual.
[[nodiscard]] std::optional<std::string> cgroup_home();

/// Returns the folder of the new group. Empty if the group can't be made.
[[nodiscard]] std::string make_cgroup(const std::string& home, const std::string& name);

/// Moves this process into the group. Returns false if that is not possible.
bool join_cgroup(const std::string& group);

/// Kills every process in the group and in its subgroups. Returns false if the kernel refuses.
bool kill_cgroup(const std::string& group);

[[nodiscard]] std::vector<pid_t> processes_in_cgroup(const std::string& group);

/// Removes the group and its subgroups. They must contain no processes.
void remove_cgroup(const std::string& group);

/// Removes the groups of gates that were killed: those named "turnpike-PID-…" whose PID no longer
/// runs.
void remove_dead_cgroups(const std::string& home);

}  // namespace turnpike
