#include "gpu/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "os/file.h"

namespace turnpike {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void run_as_child(const std::function<std::string()>& work, int pipe) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    std::ignore = write_all(pipe, work());
    ::_exit(0);
}

/// Returns everything that comes until the other end is closed. Nullopt if that takes longer than
/// `limit`.
std::optional<std::string> read_until_closed(int pipe, Duration limit) {
    const auto end = Steady::now() + limit;
    std::string text;
    std::array<char, 4096> part{};
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now());
        if (left.count() <= 0) return std::nullopt;
        pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
        const ssize_t got = ::read(pipe, part.data(), part.size());
        if (got == 0) return text;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
        if (got < 0 && errno != EINTR) return text;
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 0;  // other code waited for it
    return status;
}

}  // namespace

std::expected<std::string, std::string> in_child(const std::function<std::string()>& work,
                                                 Duration limit) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return std::unexpected(fmt::format("no pipe could be made: {}", std::strerror(errno)));
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t child = ::fork();
    if (child < 0)
        return std::unexpected(
            fmt::format("no more processes can be made: {}", std::strerror(errno)));
    if (child == 0) run_as_child(work, writing.get());
    writing.reset();
    auto text = read_until_closed(reading.get(), limit);
    // The child has sent everything, or it hangs. One that hangs in the driver may survive SIGKILL,
    // so we do not wait for its end then.
    ::kill(child, SIGKILL);
    if (!text)
        return std::unexpected(
            fmt::format("it did not answer within {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
    const int status = wait_for(child);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        return std::unexpected(fmt::format("it crashed (signal {})", WTERMSIG(status)));
    return std::move(*text);
}

}  // namespace turnpike
