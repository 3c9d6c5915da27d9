#include "supervisor/process/stacks.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "os/process.h"

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

/// Returns callbacks that do nothing, because the output of the dump is in the log.
GuardedUser silent_user() {
    return {.started = [](const ProcessId&) {},
            .exited = [](const WorkerEnd&) {},
            .stuck = [](const std::string&) {},
            .gone = [](const std::vector<pid_t>&) {}};
}

}  // namespace

std::expected<std::shared_ptr<Guarded>, std::string> dump_stacks(const StackDump& dump) {
    if (!is_on_path("py-spy", dump.environment))
        return std::unexpected(
            "py-spy is not installed: pip install py-spy, and start Turnpike with it on the PATH");
    std::vector<pid_t> pids;
    const std::vector<ProcessFacts> all = list_processes();
    for (const ProcessFacts& process : descendants_of(dump.root, all))
        if (pids.size() < processes_max && is_python(process.id.pid))
            pids.push_back(process.id.pid);
    if (pids.empty()) return std::unexpected("no Python process runs on this lane");
    const GuardOrders orders{
        .label = "stacks",
        .command = fmt::format(
            "for pid in {}; do timeout 10 py-spy dump --pid $pid; done; echo end of stacks",
            fmt::join(pids, " "))};
    auto guarded = std::make_shared<Guarded>(dump.loop, dump.children, silent_user());
    auto output = guarded->start(orders, dump.environment);
    if (!output) return std::unexpected(std::move(output.error().told));
    dump.output.attach(std::move(output->out), LogStream::stacks);
    dump.output.attach(std::move(output->err), LogStream::stacks);
    return guarded;
}

}  // namespace turnpike
