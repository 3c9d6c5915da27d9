#include "telemetry/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "base/plain_text.h"

namespace turnpike {
namespace {

constexpr std::uint32_t priorities = 8;  // per facility; the kernel's own facility is the first
constexpr int records_max = 1'000'000;   // more than any kernel keeps
constexpr std::int64_t us_max = 1'000'000'000'000'000;  // about 30 years

/// Removes the number at the start of `text` and returns it. Nullopt if there is none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool take(std::string_view& text, std::string_view expected) {
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(expected.size());
    return true;
}

/// Returns the pid in "… out of memory: Killed process 4711 (python3) …". Old kernels say "Kill
/// process".
std::optional<std::int64_t> killed_pid(std::string_view line) {
    for (const std::string_view beginning : {"Out of memory", "Memory cgroup out of memory"}) {
        std::string_view rest = line;
        if (!take(rest, beginning)) continue;
        const std::size_t at = rest.find(": Kill");
        if (at == std::string_view::npos) continue;
        rest.remove_prefix(at);
        if (!take(rest, ": Killed process ") && !take(rest, ": Kill process ")) continue;
        const auto pid = take_number<std::int64_t>(rest);
        if (pid && *pid > 0 && (rest.empty() || rest[0] == ' ' || rest[0] == ',')) return pid;
    }
    return std::nullopt;
}

Duration since_boot() {
    std::timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::optional<OomKill> parse_oom(std::string_view record) {
    const auto priority = take_number<std::uint32_t>(record);
    if (!priority || *priority >= priorities || !take(record, ",")) return std::nullopt;
    if (!take_number<std::uint64_t>(record) || !take(record, ",")) return std::nullopt;
    const auto us = take_number<std::int64_t>(record);
    const std::size_t text = record.find(';');
    if (!us || *us < 0 || *us > us_max || text == std::string_view::npos) return std::nullopt;
    record.remove_prefix(text + 1);
    const std::string_view line = record.substr(0, record.find('\n'));
    const auto pid = killed_pid(line);
    if (!pid) return std::nullopt;
    OomKill kill{.pid = *pid, .since_boot = std::chrono::microseconds(*us), .line = {}};
    append_plain(kill.line, line);
    return kill;
}

std::string oom_line_about(std::int64_t pid, Duration lived) {
    constexpr Duration slack = 10s;  // the clock of the kernel's log differs a little
    std::string found;
    const int fd = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return found;
    const Duration earliest = since_boot() - lived - slack;
    std::array<char, 8192> room;  // for one record
    for (int i = 0; i < records_max; ++i) {
        const ssize_t size = ::read(fd, room.data(), room.size());
        if (size < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL)) continue;
        if (size <= 0) break;
        const auto kill = parse_oom({room.data(), static_cast<std::size_t>(size)});
        if (kill && kill->pid == pid && kill->since_boot >= earliest) found = kill->line;
    }
    ::close(fd);
    return found;
}

}  // namespace turnpike
