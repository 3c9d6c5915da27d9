// What a lane's workers print: cut into lines, kept in memory up to a maximum (for `logs`, crash
// reports and the live display), and given out for a file.
//
//   LogSource source{LogStream::err};                  // one for each pipe
//   log.take(source, "loading\r 10%\r 20%", unix_ns);  // last_line() is " 20%"
//   log.end(source, unix_ns);                          // now a line says so
//
// Whatever comes is survived: lines read as append_plain() leaves them, and an endless one is cut
// into pieces of `line_max`. A carriage return starts the line over, as on a terminal: of a progress
// bar that draws itself a thousand times, what it showed last is the line. Not for two threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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
    std::int64_t unix_ns = 0;  // when it was finished
    LogStream stream = LogStream::out;
    std::uint64_t writer = 0;  // of whom it is; 0: nobody in particular
    std::string text;
};

/// Where lines come from, with the bytes of the one that is not finished.
struct LogSource {
    LogStream stream = LogStream::out;
    std::uint64_t writer = 0;
    std::string unfinished = {};
    bool is_returned = false;  // a carriage return was its last byte
};

class LaneLog {
public:
    static constexpr std::size_t line_max = 4096;  // bytes as they came
    static constexpr std::size_t lines_kept_max = 2000;
    static constexpr std::size_t bytes_kept_max = 256 * std::size_t{1024};
    static constexpr std::string_view cut_mark = "…";  // the line goes on in the next

    /// Hears each finished line, rendered for the file: "2026-11-15T14:03:11.123Z err text\n".
    using Write = std::function<void(std::string_view)>;
    explicit LaneLog(Write write = {}) : write_(std::move(write)) {}

    /// Bytes as a pipe gave them.
    void take(LogSource& source, std::string_view bytes, std::int64_t unix_ns);
    /// The pipe is closed: an unfinished line is finished.
    void end(LogSource& source, std::int64_t unix_ns);
    /// Lines of ours.
    void remark(std::string_view text, std::int64_t unix_ns,
                LogStream stream = LogStream::turnpike);

    /// Lines with a number above `after`, oldest first, at most `max` of the newest. They are good
    /// until the next line comes.
    [[nodiscard]] std::vector<const LogLine*> lines(std::uint64_t after, std::size_t max) const;
    /// The latest of out or err that is not blank, unfinished ones too; empty: none since
    /// forget_last_line().
    [[nodiscard]] std::string last_line() const;
    /// Of a line that this writer has not finished, if nobody spoke since; else empty.
    [[nodiscard]] std::string unfinished_of(std::uint64_t writer) const;
    void forget_last_line();
    /// The number of the newest line; 0: there is none.
    [[nodiscard]] std::uint64_t newest() const { return newest_; }

private:
    enum class Wholeness : std::uint8_t { whole, cut };

    void append(LogSource& source, std::string_view part, std::int64_t unix_ns);
    void finish(const LogSource& source, std::string_view raw, Wholeness wholeness,
                std::int64_t unix_ns);
    void keep(LogLine line);
    void give_out(const LogLine& line);

    Write write_;
    std::deque<LogLine> kept_;
    std::size_t bytes_kept_ = 0;
    std::uint64_t newest_ = 0;
    std::string last_line_;
    std::string unfinished_;               // a copy: of the source that spoke last …
    std::uint64_t unfinished_writer_ = 0;  // … and whose that is
    std::string stamp_;
    std::int64_t stamp_ns_ = 0;
    std::string rendered_;
};

}  // namespace turnpike
