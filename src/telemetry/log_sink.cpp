#include "telemetry/log_sink.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace turnpike {
namespace {

constexpr std::size_t lines_per_block = 128;
constexpr std::size_t spare_blocks_max = 32;
constexpr Duration retry_every = 1s;  // how often we try a target again that took nothing

/// Blocks all signals, because they are for the main thread. With SIGPIPE blocked, a write to a
/// pipe without a reader only fails with EPIPE.
void block_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

/// What the thread takes from the queue at once.
struct LogSink::Round {
    std::vector<Block> blocks;
    std::size_t lines = 0;
    std::uint64_t refused = 0;
    std::uint64_t flushes = 0;
    bool is_patient = false;
    bool is_last = false;
};

std::expected<std::unique_ptr<LogSink>, std::string> LogSink::open(LogOptions options) {
    CHECK(options.lines_max > 0);
    std::vector<LogOutlet> outlets;
    for (const LogTarget& target : options.targets) {
        auto outlet = LogOutlet::open(target, options.utc_offset);
        if (!outlet) return std::unexpected(std::move(outlet).error());
        outlets.push_back(std::move(*outlet));
    }
    std::unique_ptr<LogSink> sink(new LogSink(std::move(options), std::move(outlets)));
    try {
        sink->thread_ = std::thread([log = sink.get()] { log->run(); });
    } catch (const std::system_error& error) {
        return std::unexpected(std::string("can't start the thread of the job log: ") +
                               error.what());
    }
    return sink;
}

LogSink::LogSink(LogOptions options, std::vector<LogOutlet> outlets)
    : options_(std::move(options)), outlets_(std::move(outlets)) {}

LogSink::~LogSink() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        is_closing_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

// ── the pushing side ─────────────────────────────────────────────────────────────────────────────

void LogSink::push(const JobRecord& record) { push_entry(record); }
void LogSink::push(const JobStart& start) { push_entry(start); }

template <class Record>
void LogSink::push_entry(const Record& record) {
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        if (lines_held_ >= options_.lines_max) {
            ++lines_refused_;
            return;
        }
        block_with_room().emplace_back(record);
        ++lines_held_;
        wake = std::exchange(is_asleep_, false) || lines_held_ == lines_urgent();
    }
    if (wake) wake_.notify_one();
}

LogSink::Block& LogSink::block_with_room() {
    if (!queue_.empty() && queue_.back().size() < lines_per_block) return queue_.back();
    if (spares_.empty()) {
        queue_.emplace_back().reserve(lines_per_block);
    } else {
        queue_.push_back(std::move(spares_.back()));
        spares_.pop_back();
    }
    return queue_.back();
}

void LogSink::flush() {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = ++flushes_asked_;
    wake_.notify_one();
    round_ended_.wait(lock, [&] { return flushes_done_ >= mine; });
}

std::string LogSink::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

std::uint64_t LogSink::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

// ── the thread ───────────────────────────────────────────────────────────────────────────────────

void LogSink::run() {
    pthread_setname_np(pthread_self(), "tp-log");
    block_signals();
    for (bool last = false; !last;) {
        Round round = next_round();
        write(round);
        last = round.is_last;
        end(round);
    }
}

bool LogSink::is_urgent() const {
    return is_closing_ || flushes_asked_ != flushes_done_ || lines_held_ >= lines_urgent();
}

bool LogSink::has_work() const { return !queue_.empty() || lines_refused_ > 0 || is_urgent(); }

/// Sleeps until there is something to write, then gathers more lines for a while.
LogSink::Round LogSink::next_round() {
    std::unique_lock lock(mutex_);
    const auto has_work = [&] { return this->has_work(); };
    is_asleep_ = true;
    if (has_unwritten_)
        wake_.wait_for(lock, retry_every, has_work);
    else
        wake_.wait(lock, has_work);
    is_asleep_ = false;
    wake_.wait_for(lock, options_.gather, [&] { return is_urgent(); });

    Round round{.blocks = std::exchange(queue_, {}),
                .refused = std::exchange(lines_refused_, 0),
                .flushes = flushes_asked_,
                .is_patient = is_closing_ || flushes_asked_ != flushes_done_,
                .is_last = is_closing_};
    for (const Block& block : round.blocks) round.lines += block.size();
    return round;
}

void LogSink::write(const Round& round) {
    for (const Block& block : round.blocks)
        for (const LogEntry& entry : block)
            for (LogOutlet& outlet : outlets_) outlet.add(entry);
    for (LogOutlet& outlet : outlets_) {
        if (round.refused > 0) outlet.skip(round.refused);
        outlet.drain(round.is_patient ? options_.patience : Duration::zero());
        if (round.is_last) outlet.abandon();
    }
    has_unwritten_ = std::ranges::any_of(outlets_, &LogOutlet::has_unwritten);
}

/// Returns the blocks for reuse and wakes callers of flush().
void LogSink::end(Round& round) {
    std::string problem;
    std::uint64_t lost = 0;
    for (const LogOutlet& outlet : outlets_) {
        if (!problem.empty() && !outlet.problem().empty()) problem += "; ";
        problem += outlet.problem();
        lost += outlet.lost();
    }
    {
        const std::lock_guard lock(mutex_);
        lines_held_ -= round.lines;
        flushes_done_ = round.flushes;
        problem_ = std::move(problem);
        lost_ = lost;
        for (Block& block : round.blocks) {
            if (spares_.size() >= spare_blocks_max) break;
            block.clear();
            spares_.push_back(std::move(block));
        }
    }
    round_ended_.notify_all();
}

}  // namespace turnpike
