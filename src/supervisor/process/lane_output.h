// A lane's log and what feeds it: the pipes of its workers' stdout and stderr on one side, its file
// on the other. Pipes are read on the loop, the file is written by the helper thread, a batch at a
// time. While too much waits for the disk, the pipes are not read, so the worker waits too; but a
// disk that fails or hangs costs text in the file, never the worker. The lines in memory are there
// with or without a disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "os/background.h"
#include "os/clock.h"
#include "os/file.h"
#include "telemetry/lane_log.h"
#include "telemetry/log_target.h"

namespace turnpike {

struct LaneOutputDeps {
    boost::asio::io_context& loop;
    Background& disk;  // lives longer
    Clock& clock;
    std::function<void()> on_output = [] {};  // a worker printed something
};

class LaneOutput {
public:
    static constexpr std::size_t read_max =
        8 * std::size_t{1024};  // in a turn of the loop: tiny lines take their time
    static constexpr std::size_t waiting_max = 256 * std::size_t{1024};   // then reading pauses
    static constexpr std::size_t leftover_max = 256 * std::size_t{1024};  // of a pipe let go
    static constexpr Duration disk_patience = 2s;  // a pause longer than that drops text

    /// The file's folder is made if need be (0700), the file is 0600. No path: memory only.
    LaneOutput(LaneOutputDeps deps, LogFile file);
    /// What waits is still written.
    ~LaneOutput();
    LaneOutput(const LaneOutput&) = delete;
    LaneOutput& operator=(const LaneOutput&) = delete;

    /// The reading end of a pipe; closed at its end. `writer`: whose it is (LogLine).
    void attach(UniqueFd pipe, LogStream stream, std::uint64_t writer = 0);
    /// Takes what is in the pipes, without waiting.
    void read_now();
    /// The same, and closes those of this writer: whoever still holds their other ends is not of this
    /// lane any more.
    void detach(std::uint64_t writer);
    /// Lines that no pipe brings.
    void remark(std::string_view text, LogStream stream = LogStream::turnpike);

    [[nodiscard]] const LaneLog& log() const { return log_; }
    void forget_last_line() { log_.forget_last_line(); }
    /// Pipes that are open.
    [[nodiscard]] std::size_t pipes() const { return pipes_.size(); }
    /// Why text did not get into the file; empty: it does.
    [[nodiscard]] std::string problem() const;

private:
    struct Pipe {
        Pipe(boost::asio::io_context& loop, LogSource from) : fd(loop), source(std::move(from)) {}

        boost::asio::posix::stream_descriptor fd;
        LogSource source;
        bool is_waiting = false;  // for bytes to come
    };
    using PipePtr = std::shared_ptr<Pipe>;
    struct File;
    struct Outcome {
        std::string problem;  // empty: none
        bool is_lost = false;
    };
    enum class Had : std::uint8_t { some, none, end };

    void listen(const PipePtr& pipe);
    void hear(const PipePtr& pipe);
    Had read(Pipe& pipe);
    void give_up(const PipePtr& pipe, const boost::system::error_code& error);
    void close(const PipePtr& pipe);
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
    std::vector<PipePtr> pipes_;
    std::shared_ptr<File> file_;  // only the helper thread looks into it
    std::string waiting_;         // whole lines
    std::size_t in_flight_ = 0;   // bytes of the batch that is being written …
    Instant sent_at_{};           // … since then
    std::string problem_;
    boost::asio::steady_timer patience_;
    bool is_pausing_ = false;  // pipes are not read
    bool has_gap_ = false;     // the file lacks text, and does not say so yet
    bool is_hanging_ = false;  // the batch in flight takes too long
    std::shared_ptr<int> lives_ = std::make_shared<int>();  // for those who come back
};

}  // namespace turnpike
