// Where a worker is right now: the stacks of its Python processes, by py-spy, into its lane's log.
#pragma once

#include <sys/types.h>

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "os/children.h"
#include "os/guarded.h"
#include "supervisor/process/lane_output.h"

namespace turnpike {

struct StackDump {
    boost::asio::io_context& loop;
    Children& children;
    LaneOutput& output;
    pid_t root = 0;                        // whose tree
    std::vector<std::string> environment;  // with the PATH, and the mark of this run
};

/// Under a guard of its own, so that it ends with the gate. Nothing is left of it when the guard has
/// ended. Else why not, as a sentence.
[[nodiscard]] std::expected<std::shared_ptr<Guarded>, std::string> dump_stacks(
    const StackDump& dump);

}  // namespace turnpike
