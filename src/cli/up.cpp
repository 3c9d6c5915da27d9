// `turnpike up`: finds the model and the GPUs, ends what an earlier run left behind, and serves
// until told to stop.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/check.h"
#include "cli/command.h"
#include "cli/detach.h"
#include "cli/exit_code.h"
#include "cli/print.h"
#include "cli/version.h"
#include "gate/gate.h"
#include "os/random_bits.h"
#include "serve/server.h"
#include "setup/checked_config.h"
#include "setup/config_choice.h"
#include "setup/descriptor_plan.h"
#include "setup/environment.h"
#include "setup/gpu_survey.h"
#include "setup/sdk.h"
#include "setup/this_machine.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

/// The targets are filled in place, since g++ 12 warns that a moved variant is uninitialised.
std::vector<LogTarget> log_targets(const LogConfig& config) {
    std::vector<LogTarget> targets;
    const std::string wipe(wants_live_lines() ? Terminal::wipe : "");
    if (!config.jobs.empty()) {
        LogTarget& target = targets.emplace_back();
        if (config.jobs == "-")
            target.where.emplace<LogDescriptor>(
                STDOUT_FILENO, "stdout", ::isatty(STDOUT_FILENO) != 0 ? wipe : std::string());
        else
            target.where.emplace<LogFile>(config.jobs, config.size_max, config.keep);
    }
    const bool has_lines_there = config.jobs == "-" && ::isatty(STDOUT_FILENO) != 0;
    if (::isatty(STDERR_FILENO) != 0 && !has_lines_there) {
        LogTarget& target = targets.emplace_back();
        target.where.emplace<LogDescriptor>(STDERR_FILENO, "the terminal", wipe);
        target.format = LogFormat::readable;
    }
    return targets;
}

/// Returns why this process may open too few files for any gate, or nullopt if it may open enough.
/// Without this check, whatever is opened first would fail, with a message of its own.
std::optional<std::string> objection_to_limit(const OpenFiles& files) {
    const auto fits = connections_for({.limit = files.now,
                                       .open = count_open_files(),
                                       .lanes = 1,
                                       .workers = 1,
                                       .pools = 1,
                                       .command_lines = Gate::command_lines_max,
                                       .wanted = 1});
    return fits ? std::nullopt : std::optional(fits.error());
}

/// Lowers connections_max if the system allows fewer open files. Returns an error message if it
/// allows too few to start.
std::optional<std::string> limit_connections(CheckedConfig& checked, const OpenFiles& files) {
    GateConfig& gate = checked.config.gate;
    const auto fits = connections_for(descriptor_needs(checked.config, checked.lanes.size(),
                                                       checked.machine.gpus.size(), files.now));
    if (!fits) return fits.error();
    if (*fits == gate.connections_max) return std::nullopt;
    print_to_stderr(fmt::format(
        "turnpike: only {} open files are allowed (ulimit -n), so at most {} clients may be "
        "connected at once\n",
        files.now, *fits));
    gate.connections_max = *fits;
    return std::nullopt;
}

/// The folder of logs and crash reports. No other gate uses it while the lock is held. The path is
/// empty if nothing is kept.
struct LockedStateFolder {
    std::string folder;
    UniqueFd lock;
};

/// Takes the state folder for this gate alone. Two gates of the same name may want it if their
/// runtime folders differ, as in a login session and in a cron job.
LockedStateFolder lock_state_folder(const std::string& name) {
    const auto folder = state_folder(name);
    if (!folder) {
        print_to_stderr(
            fmt::format("turnpike: no logs or crash reports are kept: {}\n", folder.error()));
        return {};
    }
    UniqueFd lock(::open((*folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0)
        return {.folder = *folder, .lock = std::move(lock)};
    if (lock && errno != EWOULDBLOCK)  // some network disks have no locks
        return {.folder = *folder, .lock = std::move(lock)};
    print_to_stderr(
        fmt::format("turnpike: no logs or crash reports are kept: {}\n",
                    lock ? fmt::format("another gate uses {}; choose another --name", *folder)
                         : fmt::format("{}/lock: {}", *folder, std::strerror(errno))));
    return {};
}

/// Ends the processes that a gate left behind when it was killed.
void end_leftovers_of_earlier_gates(const OwnRun& run) {
    constexpr Duration patience = 2s;
    constexpr std::size_t named_max = 3;
    const std::vector<Leftover> leftovers = find_leftovers(runtime_place(), run);
    if (leftovers.empty()) return;
    for (std::size_t i = 0; i < leftovers.size() && i < named_max; ++i)
        print_to_stderr(
            fmt::format("turnpike: ending a process that an earlier gate left behind: pid {}, {}\n",
                        leftovers[i].id.pid, sanitized(leftovers[i].command)));
    if (leftovers.size() > named_max)
        print_to_stderr(fmt::format("turnpike: … and {} more\n", leftovers.size() - named_max));
    for (const Leftover& leftover : end_leftovers(runtime_place(), run, patience))
        print_to_stderr(fmt::format(
            "turnpike: pid {} does not end; it may be stuck in the GPU driver\n", leftover.id.pid));
}

/// Tells why there are no GPUs, what is wrong with the driver, and which processes already use
/// memory of the GPUs.
void tell_about_gpus(const CheckedConfig& checked, const std::optional<GpuDriver>& driver) {
    const Machine& machine = checked.machine;
    if (!machine.remark.empty()) print_to_stderr(fmt::format("turnpike: {}\n", machine.remark));
    const bool has_cpu_lanes = std::ranges::any_of(checked.lanes, [&](const LanePlan& lane) {
        const GpuChoice& choice = checked.config.pools[lane.pool].worker.gpus;
        return lane.url == nullptr && lane.gpus.empty() && choice.kind != GpuChoice::Kind::none;
    });
    if (has_cpu_lanes && !machine.no_gpus.empty())
        print_to_stderr(fmt::format("turnpike: serving on the CPU: {}\n", machine.no_gpus));
    if (!driver) return;
    for (const std::string& trouble : driver->troubles())
        print_to_stderr(fmt::format("turnpike: {}\n", trouble));
    const std::vector<SurveyedGpu> surveyed = survey_gpus(*driver);
    for (std::size_t i = 0; i < surveyed.size(); ++i) {
        const Gpu& gpu = driver->gpus()[i];
        const bool is_used = std::ranges::any_of(checked.lanes, [&](const LanePlan& lane) {
            return std::ranges::find(lane.gpus, gpu.uuid, &Gpu::uuid) != lane.gpus.end();
        });
        if (!is_used || !surveyed[i].usage) continue;
        for (const GpuProcess& process : surveyed[i].usage->processes)
            print_to_stderr(fmt::format(
                "turnpike: GPU {}: pid {} ({}) already holds {}\n", gpu.index.value_or(0),
                process.pid, sanitized(command_of(static_cast<pid_t>(process.pid))),
                process.memory ? text_of(*process.memory) : std::string("memory")));
    }
}

/// Writes the SDK for Python models. Returns its folder, or an empty path if there are no Python
/// models.
std::expected<std::string, std::string> write_sdk_if_needed(const Config& config,
                                                            const RuntimeFolder& folder) {
    const bool has_python = std::ranges::any_of(config.pools, [](const PoolConfig& pool) {
        return pool.worker.model.kind == ModelChoice::Kind::python;
    });
    if (!has_python) return "";
    std::string path = folder.path_of("sdk");
    if (auto problem = write_sdk(path)) return std::unexpected(std::move(*problem));
    return path;
}

}  // namespace

int run(const UpCommand& command) {
    if (command.detach && !command.ready_fd) return detach(command);
    const OpenFiles files = raise_open_files();
    if (const auto objection = objection_to_limit(files)) return complain(*objection);
    UniqueFd ready_pipe = take_ready_pipe(command);
    const auto chosen = choose_config(config_choice(command.config, command.flags));
    if (!chosen) return complain(chosen.error(), exit_usage);
    Flags flags = command.flags;
    flags.model = chosen->model;
    std::optional<GpuDriver> driver;
    auto checked =
        checked_config(chosen->file, flags, [&] { return this_machine(driver); }, this_python);
    if (!checked) {
        print_to_stderr(mistakes_text(checked.error()));
        return exit_usage;
    }
    auto folder = RuntimeFolder::take(runtime_place(), command.name);
    if (!folder) return complain(folder.error());
    const auto sdk = write_sdk_if_needed(checked->config, *folder);
    if (!sdk) return complain(sdk.error());
    const OwnRun own{.folder = folder->path(), .id = fresh_run_id(random_bits())};
    end_leftovers_of_earlier_gates(own);
    tell_about_gpus(*checked, driver);
    print_to_stderr(pythons_text(*checked));
    const LockedStateFolder state = lock_state_folder(command.name);
    auto log =
        LogSink::open({.targets = log_targets(checked->config.log), .utc_offset = utc_offset()});
    if (!log) return complain(log.error());
    const auto keys = key_file();
    if (!keys) return complain(keys.error());
    std::signal(SIGPIPE, SIG_IGN);
    if (const auto objection = limit_connections(*checked, files)) return complain(*objection);
    Server server(UpInputs{.checked = *std::move(checked),
                           .driver = std::move(driver),
                           .log = *std::move(log),
                           .folder = *std::move(folder),
                           .run = own,
                           .sdk_folder = *sdk,
                           .name = command.name,
                           .version = std::string(version()),
                           .state_folder = state.folder,
                           .key_file = keys.value_or(""),
                           .files = files});
    if (const auto problem = server.open()) return complain(*problem);
    report_ready(std::move(ready_pipe), server.url());
    server.serve();
    if (server.has_busy_threads()) std::_Exit(exit_done);  // a driver call that never returns
    return exit_done;
}

}  // namespace turnpike
