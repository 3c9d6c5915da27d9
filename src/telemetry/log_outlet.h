// One target of the job log, used by the log's thread. It renders entries as lines and writes them
// as fast as the target takes them. Lines that the target does not take yet wait here, up to a
// maximum. Further lines are lost and counted, and the log says so when there is room again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <variant>

#include "base/time.h"
#include "telemetry/job_record.h"
#include "telemetry/log_target.h"
#include "telemetry/log_writer.h"

namespace turnpike {

using LogEntry = std::variant<JobRecord, JobStart>;

class LogOutlet {
public:
    static constexpr std::size_t pending_bytes_max = 1024 * 1024;

    static std::expected<LogOutlet, std::string> open(const LogTarget& target, Duration utc_offset);

    /// Renders the entry. Calls drain() when many lines have gathered.
    void add(const LogEntry& entry);

    /// Counts lines that were lost before they came here.
    void skip(std::uint64_t lines);

    /// Writes as much as the target takes. Waits for the target at most `patience` in total.
    void drain(Duration patience);

    /// Gives up the lines that the target has not taken, and counts them as lost.
    void abandon();

    /// True if lines, or the number of lost lines, are still to be written.
    [[nodiscard]] bool has_unwritten() const { return !pending_.empty() || skipped_ > 0; }
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    static constexpr std::size_t drain_step = 64 * std::size_t{1024};

    LogOutlet(LogWriter writer, const LogTarget& target, Duration utc_offset);

    void append_lost_lines();
    void note(int error);

    LogWriter writer_;
    LogFormat format_;
    Duration utc_offset_;
    std::string line_prefix_;
    std::string pending_;  // whole lines, but the first may be partly written
    std::size_t drain_at_ = drain_step;
    std::uint64_t skipped_ = 0;  // lines lost since the log last said so
    std::uint64_t lost_ = 0;     // in total
    bool is_given_up_ = false;   // its reader is gone
    std::string problem_;
};

}  // namespace turnpike
