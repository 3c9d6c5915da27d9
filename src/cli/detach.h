// `turnpike up --detach`: the same `up` in the background.
//
// The starter runs this program once more, in a session of its own, its output appended to gate.log
// in the gate's state folder, and shows what it prints until it says through a pipe where it listens,
// or ends.
#pragma once

#include <string_view>

#include "cli/command.h"
#include "os/file.h"

namespace turnpike {

/// In the foreground. The exit code: that of the other, if it ended before it listened.
int detach(const UpCommand& command);

/// In the background: the way to the starter, which no worker may inherit. None: nobody waits.
[[nodiscard]] UniqueFd take_ready_pipe(const UpCommand& command);
void report_ready(UniqueFd pipe, std::string_view url);

}  // namespace turnpike
