#include "supervisor/process/lane_output.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "telemetry/log_writer.h"

namespace turnpike {

namespace asio = boost::asio;

namespace {

bool is_unlinked(int fd) {
    struct stat found{};
    return ::fstat(fd, &found) == 0 && found.st_nlink == 0;
}

}  // namespace

/// The log file. It is opened when the first batch is written, and again after a failure.
struct LaneOutput::File {
    explicit File(LogFile place) : where(std::move(place)) {}

    Outcome write(std::string_view text) {
        if (file && is_unlinked(file->fd())) file.reset();  // somebody removed the file
        if (!file) {
            if (std::string problem = open(); !problem.empty()) return {std::move(problem), true};
        }
        if (std::exchange(is_line_open, false)) file->write("\n");
        const LogWritten written = file->write(text);
        if (written.error == 0) return {file->rotation_problem(), false};
        file.reset();
        is_line_open = written.bytes > 0 && text[written.bytes - 1] != '\n';
        return {fmt::format("can't write {}: {}", where.path, std::strerror(written.error)), true};
    }

    std::string open() {
        const std::string folder = std::filesystem::path(where.path).parent_path();
        if (!folder.empty() && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            return fmt::format("can't make the folder {}: {}", folder, std::strerror(errno));
        auto opened = RotatingFile::open(where);
        if (!opened) return std::move(opened.error());
        file.emplace(*std::move(opened));
        return {};
    }

    const LogFile where;
    std::optional<RotatingFile> file;
    bool is_line_open = false;  // the disk took only part of the last line
};

LaneOutput::LaneOutput(LaneOutputDeps deps, LogFile file)
    : deps_(std::move(deps)),
      log_(file.path.empty() ? LaneLog::Write{} : [this](std::string_view line) { queue(line); }),
      patience_(deps_.loop) {
    file.readers = LogFile::Readers::owner;
    file_ = std::make_shared<File>(std::move(file));
}

LaneOutput::~LaneOutput() {
    if (!waiting_.empty())
        deps_.disk.run([file = file_, text = std::move(waiting_)] { return file->write(text); },
                       [](const Outcome&) {});
}

// ── pipes ────────────────────────────────────────────────────────────────────────────────────────

void LaneOutput::attach(UniqueFd fd, LogStream stream, std::uint64_t writer) {
    const auto pipe = std::make_shared<Pipe>(deps_.loop, LogSource{stream, writer});
    pipes_.push_back(pipe);
    boost::system::error_code error;
    pipe->fd.assign(fd.get(), error);
    if (error) return give_up(pipe, error);
    static_cast<void>(fd.release());
    pipe->fd.non_blocking(true, error);
    if (error) return give_up(pipe, error);
    is_full() ? wait_for_disk() : listen(pipe);
}

/// Waits until the pipe can be read. The callback holds only a weak pointer, so it does nothing
/// once the pipe is dropped from pipes_.
void LaneOutput::listen(const PipePtr& pipe) {
    if (std::exchange(pipe->is_waiting, true)) return;
    pipe->fd.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, weak = std::weak_ptr(pipe)](boost::system::error_code error) {
                            const PipePtr stays = weak.lock();
                            if (stays == nullptr || !stays->fd.is_open()) return;
                            stays->is_waiting = false;
                            error ? give_up(stays, error) : hear(stays);
                        });
}

void LaneOutput::hear(const PipePtr& pipe) {
    const Had had = read(*pipe);
    if (had == Had::end) return close(pipe);
    is_full() ? wait_for_disk() : listen(pipe);
    if (had == Had::some) deps_.on_output();
}

void LaneOutput::give_up(const PipePtr& pipe, const boost::system::error_code& error) {
    close(pipe);
    remark(fmt::format("std{} of the worker can't be read: {}", name_of(pipe->source.stream),
                       error.message()));
}

LaneOutput::Had LaneOutput::read(Pipe& pipe) {
    std::array<char, read_max> room;
    const ssize_t size = ::read(pipe.fd.native_handle(), room.data(), room.size());
    if (size > 0) {
        log_.take(pipe.source, {room.data(), static_cast<std::size_t>(size)}, now());
        write();
        return Had::some;
    }
    return size < 0 && (errno == EAGAIN || errno == EINTR) ? Had::none : Had::end;
}

void LaneOutput::close(const PipePtr& pipe) {
    log_.end(pipe->source, now());
    write();
    boost::system::error_code ignored;
    pipe->fd.close(ignored);
    std::erase(pipes_, pipe);
}

void LaneOutput::read_now() {
    for (const PipePtr& pipe : pipes_)
        for (std::size_t i = 0; i < leftover_max / read_max && read(*pipe) == Had::some; ++i) {
        }
}

void LaneOutput::detach(std::uint64_t writer) {
    read_now();
    for (const PipePtr& pipe : std::vector(pipes_))
        if (pipe->source.writer == writer) close(pipe);
}

void LaneOutput::remark(std::string_view text, LogStream stream, std::uint64_t writer) {
    log_.remark(text, now(), stream, writer);
    write();
}

// ── the file ─────────────────────────────────────────────────────────────────────────────────────

/// Adds a line to the text that waits for the disk. If too much waits, the pipes are not read. Text
/// that does not come from pipes can't be held back, so it is left out.
void LaneOutput::queue(std::string_view line) {
    if (waiting_.size() > 2 * waiting_max)
        has_gap_ = true;
    else if (!is_hanging_)
        waiting_.append(line);
}

void LaneOutput::write() {
    if (in_flight_ > 0 || waiting_.empty()) return;
    in_flight_ = waiting_.size();
    sent_at_ = deps_.clock.now();
    deps_.disk.run([file = file_, text = std::exchange(waiting_, {})] { return file->write(text); },
                   [this, weak = std::weak_ptr(lives_)](Outcome outcome) {
                       if (!weak.expired()) written(std::move(outcome));
                   });
}

void LaneOutput::written(Outcome outcome) {
    problem_ = std::move(outcome.problem);
    in_flight_ = 0;
    const bool had_gap = std::exchange(has_gap_, outcome.is_lost) || is_hanging_;
    is_hanging_ = false;
    if (had_gap && !outcome.is_lost)
        log_.remark("some text before this line is missing: the disk did not take it", now());
    write();
    go_on();
}

/// Reads the pipes again, unless the disk is still behind.
void LaneOutput::go_on() {
    is_pausing_ = false;
    patience_.cancel();
    if (is_full()) return wait_for_disk();
    for (const PipePtr& pipe : pipes_) listen(pipe);
}

std::string LaneOutput::disk_trouble() const {
    return fmt::format("the disk does not take writes to the log {}", file_->where.path);
}

std::string LaneOutput::problem() const {
    const bool is_slow = in_flight_ > 0 && deps_.clock.now() - sent_at_ > disk_patience;
    return problem_.empty() && is_slow ? disk_trouble() : problem_;
}

void LaneOutput::wait_for_disk() {
    if (std::exchange(is_pausing_, true)) return;
    patience_.expires_after(disk_patience);
    patience_.async_wait([this, weak = std::weak_ptr(lives_)](boost::system::error_code error) {
        if (error || weak.expired() || !is_pausing_) return;
        if (asio::steady_timer::clock_type::now() < patience_.expiry())
            return;  // this is the callback of an earlier wait
        problem_ = fmt::format("{}: text is left out", disk_trouble());
        is_hanging_ = true;
        waiting_.clear();
        go_on();
    });
}

}  // namespace turnpike
