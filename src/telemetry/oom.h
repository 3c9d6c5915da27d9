// Finds out from the kernel's log, /dev/kmsg, whether the kernel killed a process because memory
// ran out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace turnpike {

struct OomKill {
    std::int64_t pid = 0;
    Duration since_boot{};
    std::string line;  // "Out of memory: Killed process 4711 (python3) total-vm:…"
};

/// Parses a record of /dev/kmsg: "3,1234,5678901,-;text\n CONTINUATION=…". Returns nullopt if the
/// record is about something else, or not from the kernel (root can write to /dev/kmsg).
[[nodiscard]] std::optional<OomKill> parse_oom(std::string_view record);

/// Returns the kernel's line about the death of this process, which ran for `lived`. Empty if there
/// is no such line, or if the log is not readable: /dev/kmsg needs privileges if
/// kernel.dmesg_restrict is set, and in a container pids differ. Slow, but never waits.
[[nodiscard]] std::string oom_line_about(std::int64_t pid, Duration lived);

}  // namespace turnpike
