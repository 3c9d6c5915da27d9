// What is left to say of a worker that ended: to its clients, on its lane, and in a crash report.
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

/// Nobody needs a report of this end: somebody asked for it.
[[nodiscard]] bool was_requested(Reason ordered);

/// What there is to know of an end.
struct WorkerEnding {
    const WorkerEnd& end;
    Reason ordered = Reason::none;  // why we ended it; none: it ended by itself
    Duration load_timeout{};
    std::string trouble_before;  // of its lane, when we ended it
    const LaneLog& log;
    std::uint64_t log_began = 0;  // its first line comes after this one
    std::uint64_t writer = 0;     // which lines are its own
};

/// "exit code 127 (the shell did not find the program): sh: 1: uvicorn: not found"
[[nodiscard]] std::string trouble_of(const WorkerEnding& ending);

/// The end of what it wrote to stderr, in one line.
[[nodiscard]] std::string last_words(const WorkerEnding& ending);

/// The last lines of its log.
[[nodiscard]] std::string last_lines(const WorkerEnding& ending);

/// The exit code, or the signal, if that is how it ended.
[[nodiscard]] std::optional<int> exit_code_of(const WorkerEnd& end);
[[nodiscard]] std::optional<int> signal_of(const WorkerEnd& end);

/// What a job that was aboard had asked; at most `max` bytes of its body.
[[nodiscard]] CrashInput input_of(const Exchange& exchange, std::size_t max);

/// The GPUs of its lane, and what was last seen in use there.
void add_gpus(CrashReport& report, const LaneFacts& lane);

}  // namespace turnpike
