// Whether the kernel ended a process for want of memory, by its own words in /dev/kmsg.
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

/// Of a record as /dev/kmsg gives it: "3,1234,5678901,-;text\n CONTINUATION=…". Nothing: it is about
/// something else, or not of the kernel (root can write there).
[[nodiscard]] std::optional<OomKill> parse_oom(std::string_view record);

/// The kernel's line about the death of this process, which lived that long; empty: none, or not
/// readable (/dev/kmsg needs privileges where kernel.dmesg_restrict is set; in a container pids
/// differ). Slow, but never waits.
[[nodiscard]] std::string oom_line_about(std::int64_t pid, Duration lived);

}  // namespace turnpike
