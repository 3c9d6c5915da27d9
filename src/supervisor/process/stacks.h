// Dumps the stacks of a worker's Python processes to its lane's log, with py-spy.
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
    pid_t root = 0;                        // of the process tree to dump
    std::vector<std::string> environment;  // with PATH and the mark of this run
};

/// Starts py-spy under its own guard, so that it ends with the gate. The dump is over when the
/// guard has ended. Returns an error message if it can't be started.
[[nodiscard]] std::expected<std::shared_ptr<Guarded>, std::string> dump_stacks(
    const StackDump& dump);

}  // namespace turnpike
