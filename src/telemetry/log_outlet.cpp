#include "telemetry/log_outlet.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace turnpike {
namespace {

using Clock = std::chrono::steady_clock;

void append_lost_line(std::string& out, LogFormat format, std::uint64_t lines) {
    const std::string count = std::to_string(lines);
    switch (format) {
        case LogFormat::json: out += "{\"event\":\"lost\",\"lines\":" + count + "}\n"; return;
        case LogFormat::readable: out += "(" + count + " lines of this log were lost)\n"; return;
    }
}

void await_room(int fd, Duration at_most) {
    pollfd asked{.fd = fd, .events = POLLOUT, .revents = 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    ::poll(&asked, 1, static_cast<int>(ms));
}

}  // namespace

std::expected<LogOutlet, std::string> LogOutlet::open(const LogTarget& target,
                                                      Duration utc_offset) {
    if (const auto* descriptor = std::get_if<LogDescriptor>(&target.where))
        return LogOutlet(BorrowedDescriptor(*descriptor), target, utc_offset);
    auto file = RotatingFile::open(std::get<LogFile>(target.where));
    if (!file) return std::unexpected(std::move(file).error());
    return LogOutlet(std::move(*file), target, utc_offset);
}

LogOutlet::LogOutlet(LogWriter writer, const LogTarget& target, Duration utc_offset)
    : writer_(std::move(writer)), format_(target.format), utc_offset_(utc_offset) {
    if (const auto* descriptor = std::get_if<LogDescriptor>(&target.where))
        line_prefix_ = descriptor->line_prefix;
}

void LogOutlet::add(const LogEntry& entry) {
    if (is_given_up_) return;
    if (pending_.size() >= pending_bytes_max) return skip(1);
    append_lost_lines();
    pending_ += line_prefix_;
    std::visit(
        [&](const auto& record) {
            switch (format_) {
                case LogFormat::json: append_json_line(pending_, record); return;
                case LogFormat::readable:
                    append_readable_line(pending_, record, utc_offset_);
                    return;
            }
        },
        entry);
    if (pending_.size() >= drain_at_) drain(Duration::zero());
}

void LogOutlet::skip(std::uint64_t lines) {
    if (is_given_up_) return;
    skipped_ += lines;
    lost_ += lines;
}

void LogOutlet::append_lost_lines() {
    if (skipped_ == 0 || pending_.size() >= pending_bytes_max) return;
    pending_ += line_prefix_;
    append_lost_line(pending_, format_, std::exchange(skipped_, 0));
}

void LogOutlet::drain(Duration patience) {
    const auto until = Clock::now() + patience;
    for (append_lost_lines(); !pending_.empty(); append_lost_lines()) {
        const LogWritten result =
            std::visit([&](auto& writer) { return writer.write(pending_); }, writer_);
        pending_.erase(0, result.bytes);
        note(result.error);
        if (result.error == 0) continue;
        const Duration left = until - Clock::now();
        if (is_given_up_ || result.error != EAGAIN || left <= Duration::zero()) break;
        await_room(std::visit([](auto& writer) { return writer.fd(); }, writer_), left);
    }
    drain_at_ = pending_.size() + drain_step;
}

void LogOutlet::note(int error) {
    const std::string name = std::visit([](auto& writer) { return writer.name(); }, writer_);
    if (error == 0) {
        problem_ = std::visit([](auto& writer) { return writer.rotation_problem(); }, writer_);
    } else if (error == EPIPE || error == EBADF) {
        problem_ = name + ": nobody reads it any more, so the job log is no longer written there";
        is_given_up_ = true;
        pending_.clear();
        skipped_ = 0;
    } else if (error != EAGAIN) {
        problem_ = "can't write the job log to " + name + ": " + std::strerror(error);
    }
}

void LogOutlet::abandon() {
    lost_ += static_cast<std::uint64_t>(std::ranges::count(pending_, '\n'));
    pending_.clear();
    skipped_ = 0;
}

}  // namespace turnpike
