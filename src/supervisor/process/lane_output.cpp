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
    Pipe& pipe = pipes_.emplace_back(deps_.loop, LogSource{stream, writer});
    boost::system::error_code error;
    pipe.fd.assign(fd.get(), error);
    if (error) return give_up(pipe, error);
    static_cast<void>(fd.release());
    pipe.fd.non_blocking(true, error);
    if (error) return give_up(pipe, error);
    is_full() ? wait_for_disk() : listen(pipe);
}

/// Waits until the pipe can be read.
void LaneOutput::listen(Pipe& pipe) {
    if (std::exchange(pipe.is_waiting, true)) return;
    pipe.fd.async_wait(asio::posix::stream_descriptor::wait_read,
                       pipe.lifeline.bind([this, &pipe](boost::system::error_code error) {
                           pipe.is_waiting = false;
                           error ? give_up(pipe, error) : hear(pipe);
                       }));
}

void LaneOutput::hear(Pipe& pipe) {
    const Had had = read(pipe);
    if (had == Had::end) return close(pipe);
    is_full() ? wait_for_disk() : listen(pipe);
    if (had == Had::some) deps_.on_output();
}

void LaneOutput::give_up(Pipe& pipe, const boost::system::error_code& error) {
    const LogStream stream = pipe.source.stream;
    close(pipe);
    remark(fmt::format("std{} of the worker can't be read: {}", name_of(stream), error.message()));
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

/// Closes and forgets the pipe.
void LaneOutput::close(Pipe& pipe) {
    log_.end(pipe.source, now());
    write();
    pipes_.remove_if([&pipe](const Pipe& one) { return &one == &pipe; });
}

void LaneOutput::read_now() {
    for (Pipe& pipe : pipes_)
        for (std::size_t i = 0; i < leftover_max / read_max && read(pipe) == Had::some; ++i) {
        }
}

void LaneOutput::detach(std::uint64_t writer) {
    read_now();
    for (auto pipe = pipes_.begin(); pipe != pipes_.end();) {
        Pipe& one = *pipe++;
        if (one.source.writer == writer) close(one);
    }
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
                   lifeline_.bind([this](Outcome outcome) { written(std::move(outcome)); }));
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
    for (Pipe& pipe : pipes_) listen(pipe);
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
    patience_.async_wait(lifeline_.bind([this](boost::system::error_code error) {
        if (error || !is_pausing_) return;
        if (asio::steady_timer::clock_type::now() < patience_.expiry())
            return;  // this is the callback of an earlier wait
        problem_ = fmt::format("{}: text is left out", disk_trouble());
        is_hanging_ = true;
        waiting_.clear();
        go_on();
    }));
}

}  // namespace turnpike
