// The job log, off the hot path: `push` copies a record into a bounded queue, and a thread of its
// own ("tp-log") renders and writes it to every target. The thread gathers records for a while
// before it writes, and only a push that finds it asleep wakes it: under load a push is a lock that
// nobody contends and a copy, without a system call.
//
// A target that takes nothing (a full disk, a terminal on Ctrl-S) harms no other and no job: its
// lines wait in a bounded outlet, then they are lost and counted, and when there is room again the
// log itself says how many. A target whose reader is gone is given up.
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
    Duration utc_offset = Duration::zero();  // of readable lines
    std::size_t lines_max = 65'536;          // that wait to be written; more are lost
    Duration gather = 50ms;                  // how long lines may wait for company
    Duration patience = 1s;                  // with a slow reader, when all must be written
};

class LogSink {
public:
    /// Opens every target, or says in one sentence which one can't be and why.
    static std::expected<std::unique_ptr<LogSink>, std::string> open(LogOptions options);

    /// Flushes. What a target still has not taken then is lost.
    ~LogSink();
    LogSink(const LogSink&) = delete;
    LogSink& operator=(const LogSink&) = delete;

    void push(const JobRecord& record);
    void push(const JobStart& start);

    /// Returns when all that was pushed is written, or a target has not taken it in time (`patience`).
    void flush();

    /// What is wrong with the log now, for the gate to report when it changes; empty: nothing.
    [[nodiscard]] std::string problem() const;

    /// Lines that did not reach a target and never will, over all targets (those that were given up
    /// count no more).
    [[nodiscard]] std::uint64_t lost() const;

private:
    using Block = std::vector<LogEntry>;  // of lines_per_block; reused
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
    std::vector<LogOutlet> outlets_;  // of the thread alone
    bool has_unwritten_ = false;      // of the thread alone: some text waits for its target

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable wake_;
    std::condition_variable round_ended_;
    std::vector<Block> queue_;
    std::vector<Block> spares_;
    std::size_t lines_held_ = 0;       // queued, or taken and not yet written
    std::uint64_t lines_refused_ = 0;  // refused by the full queue, since the last round
    std::uint64_t flushes_asked_ = 0;
    std::uint64_t flushes_done_ = 0;
    bool is_asleep_ = false;  // the thread waits for a push to wake it
    bool is_closing_ = false;
    std::string problem_;
    std::uint64_t lost_ = 0;

    std::thread thread_;  // last: it uses all of the above
};

}  // namespace turnpike
