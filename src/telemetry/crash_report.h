// What is kept of a worker that died: one folder per death, a bounded number of them.
//
//   FOLDER/20261115-140311-lane0-4711/report.json   what is known
//                                     log.txt       the last lines of its output
//                                     input-JOB     the body of a job that was aboard
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace turnpike {

struct CrashInput {
    std::string job;      // its name
    std::string request;  // "POST /predict"
    std::string content_type;
    std::string body;
    bool is_cut = false;  // it was longer
};

struct CrashReport {
    std::int64_t unix_ns = 0;
    std::uint64_t lane = 0;
    std::string pool;
    std::uint64_t generation = 0;
    std::int64_t pid = 0;
    std::string command;
    std::vector<std::string> gpus;  // "0 GPU-… NVIDIA H200"
    std::string why;                // as the engine sees it: "exited", "load_silent" …
    std::string how;                // "killed by SIGKILL", "exit code 1"
    std::optional<int> exit_code;
    std::optional<int> signal;
    Duration lived{};
    std::optional<Bytes> memory_peak;      // of its resident set
    std::optional<Bytes> gpu_memory_used;  // last seen on its GPUs, of all processes
    std::string oom_line;                  // of the kernel's log; empty: none, or not readable
    std::string log;                       // the last lines
    std::vector<CrashInput> inputs;
};

/// The kernel's log line about the pid's death for want of memory; empty: none, or not readable
/// (/dev/kmsg needs privileges where kernel.dmesg_restrict is set). Slow.
[[nodiscard]] std::string oom_line_about(std::int64_t pid);

/// Writes the folder and removes the oldest ones beyond `keep`. Its id, or a sentence. Slow.
[[nodiscard]] std::expected<std::string, std::string> write_crash_report(const std::string& folder,
                                                                         const CrashReport& report,
                                                                         std::uint32_t keep);

struct CrashSummary {
    std::string id;
    std::string json;  // report.json
};

/// Newest first. Slow.
[[nodiscard]] std::vector<CrashSummary> list_crash_reports(const std::string& folder);

/// report.json with "log" (the text of log.txt) and "files" (paths). Nothing: no such report.
[[nodiscard]] std::optional<std::string> read_crash_report(const std::string& folder,
                                                           const std::string& id);

}  // namespace turnpike
