// One target of the log, as its thread sees it: lines go in rendered, and leave as fast as the
// target takes them. What it does not take waits here, up to a maximum; beyond that, lines are lost
// and counted, and the log says so when there is room.
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

    /// Renders the entry; drains by itself whenever much has gathered.
    void add(const LogEntry& entry);

    /// Lines that were lost on the way here.
    void skip(std::uint64_t lines);

    /// Writes what the target takes, waiting for it at most `patience` in all.
    void drain(Duration patience);

    /// Gives up what was not taken.
    void abandon();

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
    std::string pending_;  // whole lines, except that the first may have been begun
    std::size_t drain_at_ = drain_step;
    std::uint64_t skipped_ = 0;  // lines lost since the log last said so
    std::uint64_t lost_ = 0;     // in all
    bool is_given_up_ = false;   // its reader is gone
    std::string problem_;
};

}  // namespace turnpike
