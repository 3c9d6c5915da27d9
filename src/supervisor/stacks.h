// Where a worker is right now: the stacks of its Python processes, by py-spy, into its lane's log.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "os/children.h"
#include "supervisor/lane_output.h"

namespace turnpike {

struct StackDump {
    pid_t root = 0;                        // whose tree
    std::vector<std::string> environment;  // for the PATH
};

/// Nothing: it is under way. Else why not, as a sentence.
[[nodiscard]] std::optional<std::string> dump_stacks(const StackDump& dump, Children& children,
                                                     LaneOutput& output);

}  // namespace turnpike
