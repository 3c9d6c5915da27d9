// The job log, off the hot path: `push` copies a record into a bounded queue, and the thread
// "tp-log" renders it and writes it to every target. The thread gathers records for a while before
// it writes, and a push wakes it only if it sleeps. So under load a push is an uncontended lock and
// a copy, without a system call.
//
// A target that takes nothing (a full disk, a terminal on Ctrl-S) does not harm jobs or other
// targets. Its lines wait in a bounded outlet; further lines are lost and counted, and when there
// is room again the log itself says how many were lost. A target whose reader is gone is given up.
//
//   auto log = LogSink::open({.targets = {{LogFile{.path = "jobs.log"}, LogFormat::json},
//                                         {LogDescriptor{}, LogFormat::readable}}});
//   if (!log) return fail(log.error());
//   (*log)->push(record);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/time.h"
#include "telemetry/job_record.h"
#include "telemetry/log_outlet.h"
#include "telemetry/log_target.h"

namespace turnpike {

struct LogOptions {
    std::vector<LogTarget> targets;
    Duration utc_offset = Duration::zero();  // for readable lines
    std::size_t lines_max = 65'536;          // how many may wait to be written; more are lost
    Duration gather = 50ms;                  // how long the thread gathers lines before it writes
    Duration patience = 1s;                  // how long a flush waits for a slow reader
};

class LogSink {
public:
    /// Opens every target. The error says which target can't be opened, and why.
    static std::expected<std::unique_ptr<LogSink>, std::string> open(LogOptions options);

    /// Writes what is left, as flush() does. Lines that a target has not taken by then are lost.
    ~LogSink();
    LogSink(const LogSink&) = delete;
    LogSink& operator=(const LogSink&) = delete;

    void push(const JobRecord& record);
    void push(const JobStart& start);

    /// Returns when everything that was pushed is written, or a target has not taken it within
    /// `patience`.
    void flush();

    /// Returns what is wrong with the log now. Empty if nothing is. The gate reports changes of
    /// this text.
    [[nodiscard]] std::string problem() const;

    /// Returns how many lines were lost, over all targets. Lines for a target that was given up are
    /// not counted.
    [[nodiscard]] std::uint64_t lost() const;

private:
    using Block = std::vector<LogEntry>;  // up to lines_per_block entries; reused
    struct Round;

    LogSink(LogOptions options, std::vector<LogOutlet> outlets);

    template <class Record>
    void push_entry(const Record& record);
    Block& block_with_room();

    void run();
    Round next_round();
    void write(const Round& round);
    void end(Round& round);
    [[nodiscard]] std::size_t lines_urgent() const { return (options_.lines_max + 1) / 2; }
    [[nodiscard]] bool is_urgent() const;
    [[nodiscard]] bool has_work() const;

    const LogOptions options_;
    std::vector<LogOutlet> outlets_;  // used by the thread only
    bool has_unwritten_ = false;      // used by the thread only: a target has not taken everything

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable wake_;
    std::condition_variable round_ended_;
    std::vector<Block> queue_;
    std::vector<Block> spares_;
    std::size_t lines_held_ = 0;       // queued, or taken by the thread and not yet written
    std::uint64_t lines_refused_ = 0;  // because the queue was full, since the last round
    std::uint64_t flushes_asked_ = 0;
    std::uint64_t flushes_done_ = 0;
    bool is_asleep_ = false;  // the thread waits for a push to wake it
    bool is_closing_ = false;
    std::string problem_;
    std::uint64_t lost_ = 0;

    std::thread thread_;  // declared last, since it uses all of the above
};

}  // namespace turnpike
