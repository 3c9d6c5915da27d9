// cgroup v2, where it can be had: a group per worker, whose processes all end at once, also those that
// fork as fast as they are killed. Never needed: without it the guard's own search does the same.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace turnpike {

/// Where groups of ours may be made; nothing: no cgroup v2, or no permission (that is usual).
[[nodiscard]] std::optional<std::string> cgroup_home();

/// The new group's folder; empty: it can't be made.
[[nodiscard]] std::string make_cgroup(const std::string& home, const std::string& name);

/// This process goes there.
bool join_cgroup(const std::string& group);

/// Every process in it, and below. False: it can't be done that way.
bool kill_cgroup(const std::string& group);

/// Now in it.
[[nodiscard]] std::vector<pid_t> processes_in_cgroup(const std::string& group);

/// Once it is empty.
void remove_cgroup(const std::string& group);

/// What gates that were killed left there: "turnpike-PID-…", where no process has that pid.
void remove_dead_cgroups(const std::string& home);

}  // namespace turnpike
