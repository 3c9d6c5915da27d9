#include "supervisor/stacks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "os/process.h"
#include "os/spawn.h"

namespace turnpike {
namespace {

constexpr std::size_t processes_max = 16;

bool is_on_path(std::string_view program, const std::vector<std::string>& environment) {
    constexpr std::string_view prefix = "PATH=";
    for (std::string_view entry : environment) {
        if (!entry.starts_with(prefix)) continue;
        entry.remove_prefix(prefix.size());
        while (!entry.empty()) {
            const std::string_view folder = entry.substr(0, entry.find(':'));
            const std::string path = fmt::format("{}/{}", folder, program);
            if (::access(path.c_str(), X_OK) == 0) return true;
            entry.remove_prefix(std::min(folder.size() + 1, entry.size()));
        }
    }
    return false;
}

bool is_python(pid_t pid) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    return !error && program.filename().string().starts_with("python");
}

}  // namespace

std::optional<std::string> dump_stacks(const StackDump& dump, Children& children,
                                       LaneOutput& output) {
    if (!is_on_path("py-spy", dump.environment))
        return "py-spy is not installed: pip install py-spy, and start Turnpike with it on the "
               "PATH";
    std::vector<pid_t> pids;
    const std::vector<ProcessFacts> all = list_processes();
    for (const ProcessFacts& process : descendants_of(dump.root, all))
        if (pids.size() < processes_max && is_python(process.id.pid))
            pids.push_back(process.id.pid);
    if (pids.empty()) return "no Python process runs on this lane";
    int ends[2] = {-1, -1};
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing || ::pipe2(ends, O_CLOEXEC) != 0) return "no pipe could be made";
    UniqueFd reads(ends[0]);
    const UniqueFd writes(ends[1]);
    const std::string command =
        fmt::format("for pid in {}; do timeout 10 py-spy dump --pid $pid; done; echo end of stacks",
                    fmt::join(pids, " "));
    const auto pid = spawn({.program = "/bin/sh",
                            .arguments = {"sh", "-c", command},
                            .environment = dump.environment,
                            .descriptors = {nothing.get(), writes.get(), writes.get()}});
    if (!pid) return fmt::format("py-spy can't be run: {}", std::strerror(pid.error()));
    children.watch(*pid, [](const ExitStatus&) {});
    output.attach(std::move(reads), LogStream::stacks);
    return std::nullopt;
}

}  // namespace turnpike
