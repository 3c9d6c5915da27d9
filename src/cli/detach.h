// `turnpike up --detach`: the same `up` in the background.
//
// The foreground process runs this program once more, in a session of its own. The output of this
// second process is appended to gate.log in the gate's state folder. The foreground process shows
// that output until the second process ends or writes to a pipe where it listens.
#pragma once

#include <string_view>

#include "cli/command.h"
#include "os/file.h"

namespace turnpike {

/// Called in the foreground process. Returns the exit code: that of the gate if it ended before it
/// listened.
int detach(const UpCommand& command);

/// Called in the background process. Returns the pipe to the foreground process, marked so that no
/// worker inherits it. Empty if no foreground process waits.
[[nodiscard]] UniqueFd take_ready_pipe(const UpCommand& command);
/// Tells the foreground process that the gate listens at `url`.
void report_ready(UniqueFd pipe, std::string_view url);

}  // namespace turnpike
