#include "cli/detach.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <expected>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/print.h"
#include "os/runtime_folder.h"
#include "os/spawn.h"
#include "setup/environment.h"

namespace turnpike {
namespace {

using Wrong = std::unexpected<std::string>;

constexpr off_t log_size_max =
    off_t{16} * 1024 * 1024;  // checked when a gate starts; a larger log is set aside
constexpr int look_every_ms = 50;
constexpr int ready_fd = 3;  // the pipe's number in the background process

std::string reason() { return std::strerror(errno); }

/// Prints what is appended to a file from now on.
class Tail {
public:
    explicit Tail(int file) : file_(file), at_(::lseek(file, 0, SEEK_END)) {}

    void show() {
        std::array<char, 4096> room{};
        for (ssize_t size; (size = ::pread(file_, room.data(), room.size(), at_)) > 0; at_ += size)
            print_to_stderr({room.data(), static_cast<std::size_t>(size)});
    }

private:
    int file_;
    off_t at_;
};

std::expected<UniqueFd, std::string> open_log(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0 && found.st_size > log_size_max)
        std::ignore = ::rename(path.c_str(), (path + ".1").c_str());
    UniqueFd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
    if (!file) return Wrong(path + " can't be opened: " + reason());
    return file;
}

struct Pipe {
    UniqueFd reader;
    UniqueFd writer;
};

std::expected<Pipe, std::string> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Wrong("a pipe can't be made: " + reason());
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Returns the words of this command line, and the flag that tells the gate which descriptor the
/// pipe has.
std::vector<std::string> arguments_for(const UpCommand& command) {
    std::vector<std::string> arguments{"turnpike"};
    arguments.insert(arguments.end(), command.words.begin(), command.words.end());
    const auto up = std::ranges::find(arguments, "up");
    arguments.insert(up == arguments.end() ? up : up + 1, fmt::format("--ready-fd={}", ready_fd));
    return arguments;
}

std::expected<pid_t, std::string> start(const UpCommand& command, int log, int writer) {
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return Wrong("/dev/null can't be opened: " + reason());
    const auto pid = spawn({.program = "/proc/self/exe",
                            .arguments = arguments_for(command),
                            .environment = own_environment(),
                            .descriptors = {nothing.get(), log, log, writer}});
    if (!pid) return Wrong(std::string("the gate can't be started: ") + std::strerror(pid.error()));
    return *pid;
}

/// Waits for the address that the gate sends. Empty if the gate ended without sending one.
std::string await_address(int reader, Tail& tail) {
    std::string address;
    for (;;) {
        pollfd one{.fd = reader, .events = POLLIN, .revents = 0};
        const int found = ::poll(&one, 1, look_every_ms);
        tail.show();
        if (found <= 0) continue;
        std::array<char, 256> room{};
        const ssize_t size = ::read(reader, room.data(), room.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return address;
        address.append(room.data(), static_cast<std::size_t>(size));
    }
}

int exit_code_of(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return exit_failed;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return complain(fmt::format("the gate was killed by signal {}", WTERMSIG(status)));
}

std::string started_text(const UpCommand& command, std::string_view address, pid_t pid) {
    const std::string name = command.name == "default" ? "" : " --name " + command.name;
    return fmt::format(
        "gate {} (pid {}) listens on {} in the background; its lanes are starting\n"
        "  turnpike status{}     show its lanes\n"
        "  turnpike logs -f{}    follow what its workers print\n"
        "  turnpike down{}       stop it\n",
        command.name, pid, address, name, name, name);
}

/// Returns why this name can't be used: a gate of this name is running. Checks this here, so that
/// the message does not end up in the running gate's log.
std::optional<std::string> objection_to(const UpCommand& command) {
    const std::vector<RunningGate> running = list_running(runtime_place());
    const auto found = std::ranges::find(running, command.name, &RunningGate::name);
    if (found == running.end()) return std::nullopt;
    return fmt::format(
        "a gate named {} is running already (pid {}): stop it with: turnpike down --name {}; or "
        "choose another --name",
        found->name, found->pid, found->name);
}

}  // namespace

int detach(const UpCommand& command) {
    if (const auto objection = objection_to(command)) return complain(*objection);
    const auto folder = state_folder(command.name);
    if (!folder) return complain("the gate's output can't be kept: " + folder.error());
    const std::string log_path = *folder + "/gate.log";
    const auto log = open_log(log_path);
    if (!log) return complain(log.error());
    auto pipe = make_pipe();
    if (!pipe) return complain(pipe.error());
    Tail tail(log->get());
    const auto pid = start(command, log->get(), pipe->writer.get());
    if (!pid) return complain(pid.error());
    pipe->writer.reset();
    const std::string address = await_address(pipe->reader.get(), tail);
    if (address.empty()) {
        const int code = exit_code_of(*pid);
        tail.show();
        return code;
    }
    return print(started_text(command, address, *pid) + "the gate's own output goes to " +
                 log_path + '\n');
}

UniqueFd take_ready_pipe(const UpCommand& command) {
    if (command.ready_fd.value_or(0) <= STDERR_FILENO) return {};
    ::prctl(PR_SET_NAME, "turnpike");  // otherwise it is "exe", from /proc/self/exe
    ::fcntl(*command.ready_fd, F_SETFD, FD_CLOEXEC);
    return UniqueFd(*command.ready_fd);
}

void report_ready(UniqueFd pipe, std::string_view url) {
    if (pipe) std::ignore = ::write(pipe.get(), url.data(), url.size());
}

}  // namespace turnpike
