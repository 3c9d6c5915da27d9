// Moves what a lane's workers print from the pipes of their stdout and stderr to the lane's log in
// memory and to the log file. The loop reads the pipes; the disk thread writes the file in batches.
// While too much text waits for the disk, the pipes are not read, so the worker waits too. If the
// disk fails or hangs, the file loses text, but the worker goes on. The lines in memory do not
// depend on the disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/lifeline.h"
#include "base/time.h"
#include "os/background.h"
#include "os/clock.h"
#include "os/file.h"
#include "telemetry/lane_log.h"
#include "telemetry/log_target.h"

namespace turnpike {

struct LaneOutputDeps {
    boost::asio::io_context& loop;
    Background& disk;  // must outlive the LaneOutput
    Clock& clock;
    std::function<void()> on_output = [] {};  // a worker printed something
};

class LaneOutput {
public:
    static constexpr std::size_t read_max =
        8 * std::size_t{1024};  // per turn of the loop, because many tiny lines take long
    /// If more text than this waits for the disk, reading pauses.
    static constexpr std::size_t waiting_max = 256 * std::size_t{1024};
    /// At most this much is read from a pipe before it is closed.
    static constexpr std::size_t leftover_max = 256 * std::size_t{1024};
    static constexpr Duration disk_patience = 2s;  // a longer pause drops text

    /// Makes the file's folder (mode 0700) if it is missing; the file has mode 0600. If the path is
    /// empty, the log is kept in memory only.
    LaneOutput(LaneOutputDeps deps, LogFile file);
    /// Still writes the text that waits for the disk.
    ~LaneOutput();
    LaneOutput(const LaneOutput&) = delete;
    LaneOutput& operator=(const LaneOutput&) = delete;

    /// Reads from this end of a pipe, and closes it when the other end is closed. `writer` is the
    /// id of the worker that writes (LogLine::writer).
    void attach(UniqueFd pipe, LogStream stream, std::uint64_t writer = 0);
    /// Reads what is in the pipes now, without waiting.
    void read_now();
    /// Reads what is in the pipes now, then closes the pipes of this writer. A process that still
    /// holds their other ends does not belong to this lane any more.
    void detach(std::uint64_t writer);
    /// Adds lines that did not come through a pipe. `writer` is the id of the worker that sent them
    /// in a frame.
    void remark(std::string_view text, LogStream stream = LogStream::turnpike,
                std::uint64_t writer = 0);

    [[nodiscard]] const LaneLog& log() const { return log_; }
    void forget_last_line() { log_.forget_last_line(); }
    /// Returns the number of open pipes.
    [[nodiscard]] std::size_t pipes() const { return pipes_.size(); }
    /// Returns why text did not get into the file. Empty if all of it did.
    [[nodiscard]] std::string problem() const;

private:
    struct Pipe {
        Pipe(boost::asio::io_context& loop, LogSource from) : fd(loop), source(std::move(from)) {}

        boost::asio::posix::stream_descriptor fd;
        LogSource source;
        bool is_waiting = false;  // a wait for bytes is under way
        Lifeline lifeline;        // the loop may still hold the callback of a pipe that is closed
    };
    struct File;
    struct Outcome {
        std::string problem;  // empty if there was none
        bool is_lost = false;
    };
    enum class Had : std::uint8_t { some, none, end };

    void listen(Pipe& pipe);
    void hear(Pipe& pipe);
    Had read(Pipe& pipe);
    void give_up(Pipe& pipe, const boost::system::error_code& error);
    void close(Pipe& pipe);
    void queue(std::string_view line);
    void write();
    void written(Outcome outcome);
    void go_on();
    void wait_for_disk();
    [[nodiscard]] std::string disk_trouble() const;
    [[nodiscard]] bool is_full() const {
        return !is_hanging_ && waiting_.size() + in_flight_ > waiting_max;
    }
    [[nodiscard]] std::int64_t now() { return deps_.clock.unix_ns(deps_.clock.now()); }

    LaneOutputDeps deps_;
    LaneLog log_;
    std::list<Pipe> pipes_;
    std::shared_ptr<File> file_;  // used by the disk thread only
    std::string waiting_;         // whole lines
    std::size_t in_flight_ = 0;   // bytes of the batch that is being written
    Instant sent_at_{};           // when that batch was given to the disk
    std::string problem_;
    boost::asio::steady_timer patience_;
    bool is_pausing_ = false;  // pipes are not read
    bool has_gap_ = false;     // the file lacks text and does not say so yet
    bool is_hanging_ = false;  // the batch in flight takes too long
    Lifeline lifeline_;
};

}  // namespace turnpike
