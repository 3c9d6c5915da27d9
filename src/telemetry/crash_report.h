// What is kept about a worker that died: one folder per death, up to a maximum.
//
//   FOLDER/20261115-140311-123-lane0-4711/report.json   what is known
//                                         log.txt       the last lines of its output
//                                         input-JOB     the body of a job that was aboard
//
// Only the owner may read FOLDER and its contents. A report is written to a temporary folder first
// and renamed when it is complete. If the disk fails, these functions return a message and don't
// throw.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace turnpike {

struct CrashInput {
    std::string job;      // the job's name
    std::string request;  // "POST /predict"
    std::string content_type;
    std::string body;
    bool is_cut = false;                                // the body was longer
    std::function<std::string()> fetch_body = nullptr;  // set if the body is on disk; slow
};

struct CrashReport {
    static constexpr std::size_t log_max = 64 * std::size_t{1024};  // the last bytes are kept

    std::int64_t unix_ns = 0;
    std::uint64_t lane = 0;
    std::string pool;
    std::uint64_t generation = 0;
    std::int64_t pid = 0;
    std::string command;
    std::vector<std::string> gpus;  // "0 GPU-… NVIDIA H200"
    std::string why;                // as the engine sees it: "exited", "load_silent" …
    std::string how;                // "killed by SIGKILL", "exit code 1"
    std::string trouble;            // the same in a sentence, for the terminal
    std::optional<int> exit_code;
    std::optional<int> signal;
    Duration lived{};
    std::optional<Bytes> memory_peak;      // resident set size
    std::optional<Bytes> gpu_memory_used;  // by all processes on its GPUs, when last seen
    std::string oom_line;                  // from the kernel's log; empty if none, or not readable
    std::string log;                       // the last lines, "err text\n" each
    std::vector<CrashInput> inputs;
};

/// Returns "20261115-140311-123-lane0-4711". Ids sort by time.
[[nodiscard]] std::string crash_id(const CrashReport& report);

/// True if the text could be a crash id. It is then safe as the name of a folder.
[[nodiscard]] bool is_crash_id(std::string_view text);

/// Returns the contents of report.json: one line.
[[nodiscard]] std::string crash_json(std::string_view id, const CrashReport& report);

/// Writes the folder of a report, and removes the oldest reports beyond `keep`. Returns the
/// report's id, or an error message. Slow.
[[nodiscard]] std::expected<std::string, std::string> write_crash_report(const std::string& folder,
                                                                         const CrashReport& report,
                                                                         std::uint32_t keep);

struct CrashSummary {
    std::string id;
    std::string json;  // contents of report.json
};

/// Returns the reports in the folder, newest first. Slow.
[[nodiscard]] std::vector<CrashSummary> list_crash_reports(const std::string& folder);

/// Returns report.json with "log" (the text of log.txt) and "files" (paths) added. Nullopt if there
/// is no such report. Slow.
[[nodiscard]] std::optional<std::string> read_crash_report(const std::string& folder,
                                                           const std::string& id);

/// Returns the same text from its parts, for a report that is in no folder.
[[nodiscard]] std::string crash_page(std::string_view json, std::string_view log,
                                     const std::vector<std::string>& files);

}  // namespace turnpike
