// What a lane's workers print: split into lines, kept in memory up to a maximum (for `logs`, crash
// reports and the live display), and passed on to be written to a file.
//
//   LogSource source{LogStream::err};                  // one for each pipe
//   log.take(source, "loading\r 10%\r 20%", unix_ns);  // last_line() is " 20%"
//   log.end(source, unix_ns);                          // now " 20%" is a line
//
// Any bytes may come: append_plain() cleans each line, and an endless line is cut into pieces of
// `line_max`. A carriage return starts the line over, as on a terminal. So a progress bar that
// redraws itself a thousand times leaves one line: what it showed last. Not safe for threads.
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
    std::int64_t unix_ns = 0;  // when the line was finished
    LogStream stream = LogStream::out;
    std::uint64_t writer = 0;  // id of the worker that wrote it; 0 if unknown
    std::string text;
};

/// One source of lines, with the bytes of its unfinished line.
struct LogSource {
    LogStream stream = LogStream::out;
    std::uint64_t writer = 0;
    std::string unfinished = {};
    bool is_returned = false;  // its last byte was a carriage return
};

class LaneLog {
public:
    static constexpr std::size_t line_max = 4096;  // bytes, before cleaning
    static constexpr std::size_t lines_kept_max = 2000;
    static constexpr std::size_t bytes_kept_max = 256 * std::size_t{1024};
    static constexpr std::string_view cut_mark = "…";  // ends a line that goes on in the next

    /// Gets each finished line as it is written to the file: "2026-11-15T14:03:11.123Z err text\n".
    using Write = std::function<void(std::string_view)>;
    explicit LaneLog(Write write = {}) : write_(std::move(write)) {}

    /// Takes bytes as they were read from a pipe.
    void take(LogSource& source, std::string_view bytes, std::int64_t unix_ns);
    /// Must be called when the pipe is closed: finishes an unfinished line.
    void end(LogSource& source, std::int64_t unix_ns);
    /// Adds lines that did not come through a pipe: our own, or those of this worker.
    void remark(std::string_view text, std::int64_t unix_ns, LogStream stream = LogStream::turnpike,
                std::uint64_t writer = 0);

    /// Returns the newest lines with a number above `after`, at most `max` of them, oldest first.
    /// The pointers are valid until the next line comes.
    [[nodiscard]] std::vector<const LogLine*> lines(std::uint64_t after, std::size_t max) const;
    /// Returns the latest line of out or err that is not blank, even if it is unfinished. Empty if
    /// there is none since forget_last_line().
    [[nodiscard]] std::string last_line() const;
    /// Returns the unfinished line of this writer. Empty if another writer wrote since then.
    [[nodiscard]] std::string unfinished_of(std::uint64_t writer) const;
    void forget_last_line();
    /// Returns the number of the newest line, or 0 if there is none.
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
    std::string unfinished_;               // copied from the source that wrote last
    std::uint64_t unfinished_writer_ = 0;  // the writer of unfinished_
    std::string stamp_;
    std::int64_t stamp_ns_ = 0;
    std::string rendered_;
};

}  // namespace turnpike
