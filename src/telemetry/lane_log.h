// What a lane's workers print: cut into lines, kept in memory up to a maximum (for `logs`, crash
// reports and the live display), and written to a file that rotates.
//
// Whatever comes is survived: bytes that are no UTF-8 become U+FFFD, an endless line is cut into
// pieces of `line_max`, a carriage return ends a line as a newline does (progress bars), NULs and
// other control characters are kept out. Not for two threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

enum class LogStream : std::uint8_t {
    out,
    err,
    turnpike,  // our own remarks: a worker started, ended
    stacks,    // what a debugger printed
};
std::string_view name_of(LogStream);

struct LogLine {
    std::uint64_t number = 0;  // grows by one per line of the lane, from 1
    std::int64_t unix_ns = 0;
    LogStream stream = LogStream::out;
    std::string text;
};

class LaneLog {
public:
    static constexpr std::size_t line_max = 4096;
    static constexpr std::size_t lines_kept_max = 2000;
    static constexpr std::size_t bytes_kept_max = 256 * std::size_t{1024};

    /// Hears each finished line, rendered for the file: "2026-11-15T14:03:11.123Z err text\n".
    using Write = std::function<void(std::string_view)>;
    explicit LaneLog(Write write) : write_(std::move(write)) {}

    /// Bytes as a pipe gave them.
    void take(LogStream stream, std::string_view bytes, std::int64_t unix_ns);
    /// The pipe is closed: an unfinished line is finished.
    void end(LogStream stream, std::int64_t unix_ns);
    /// A line of ours.
    void remark(std::string_view text, std::int64_t unix_ns);

    /// Lines with a number above `after`, oldest first, at most `max` of the newest.
    [[nodiscard]] std::vector<const LogLine*> lines(std::uint64_t after, std::size_t max) const;
    /// The latest line of out or err, unfinished ones too; empty: none since forget_last_line().
    [[nodiscard]] const std::string& last_line() const { return last_line_; }
    void forget_last_line() { last_line_.clear(); }
    [[nodiscard]] std::uint64_t newest() const { return newest_; }

private:
    Write write_;
    std::deque<LogLine> kept_;
    std::size_t bytes_kept_ = 0;
    std::uint64_t newest_ = 0;
    std::string last_line_;
    std::string unfinished_[4];
};

}  // namespace turnpike
