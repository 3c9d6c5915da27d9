// Describes how a worker ended: for the clients of its jobs, for its lane and for the crash report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/words.h"
#include "os/guarded.h"
#include "stream/exchange.h"
#include "telemetry/crash_report.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"

namespace turnpike {

/// True if the worker was ended on request, or because it was not needed any more. Then nobody
/// needs a crash report.
[[nodiscard]] bool was_requested(Reason ordered);

/// What is known about a worker's end.
struct WorkerEnding {
    const WorkerEnd& end;
    Reason ordered = Reason::none;  // why we ended it; none if it ended by itself
    Duration load_timeout{};
    LaneTrouble trouble_before;  // the lane's trouble when we ended it
    const LaneLog& log;
    std::uint64_t log_began = 0;  // the number of the last line before its own
    std::uint64_t writer = 0;     // marks the lines that it wrote
};

/// Returns the lane's trouble, such as "exit code 127 (the shell did not find the program)" with the
/// worker's words "sh: 1: uvicorn: not found".
[[nodiscard]] LaneTrouble trouble_of(const WorkerEnding& ending);

/// Returns the last lines that the worker wrote to stderr, joined to one line.
[[nodiscard]] std::string last_words(const WorkerEnding& ending);

/// Returns the last lines of the worker's log.
[[nodiscard]] std::string last_lines(const WorkerEnding& ending);

/// Return the exit code, or the signal. Each returns nullopt if the worker did not end that way.
[[nodiscard]] std::optional<int> exit_code_of(const WorkerEnd& end);
[[nodiscard]] std::optional<int> signal_of(const WorkerEnd& end);

/// Returns the request of a job that the worker had, with at most `max` bytes of its body.
[[nodiscard]] CrashInput input_of(const Exchange& exchange, std::size_t max);

/// Adds the lane's GPUs to the report, and the GPU memory that was last seen in use.
void add_gpus(CrashReport& report, const LaneFacts& lane);

}  // namespace turnpike
