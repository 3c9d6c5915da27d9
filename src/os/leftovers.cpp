#include "os/leftovers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "base/name.h"
#include "os/cgroup.h"

namespace turnpike {
namespace {

constexpr const char* known_file = "processes";
constexpr int empty_looks_needed = 3;  // one look may miss a process that keeps forking
constexpr std::chrono::milliseconds look_every{5};

bool is_zombie(const ProcessFacts& process) { return process.state == 'Z' || process.state == 'X'; }

bool is_alive(const ProcessId& id) {
    const auto now = read_process(id.pid);
    return now && now->id == id && !is_zombie(*now);
}

/// Returns the id of this boot. Start times count from the boot, so a list from another boot may
/// name unrelated processes.
std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id;
}

/// Returns what FOLDER/processes lists. Empty if the gate that wrote the file still runs.
KnownProcesses read_known(const std::string& folder) {
    KnownProcesses known;
    std::ifstream file(folder + '/' + known_file);
    for (std::string kind; file >> kind;) {
        if (kind == "process" || kind == "gate") {
            ProcessId id;
            if (!(file >> id.pid >> id.start)) continue;
            if (kind == "gate" && is_alive(id)) return {};
            if (kind == "process") known.processes.push_back(id);
        } else if (std::string boot; kind == "boot" && file >> boot) {
            if (boot != boot_id()) return {};
        } else if (std::string group; kind == "group" && file >> group) {
            known.groups.push_back(group);
        }
    }
    return known;
}

/// True if the gate of the run with this id still runs.
bool is_running(const std::string& id) {
    ProcessId gate;
    return std::sscanf(id.c_str(), "%d-%" SCNu64 "-", &gate.pid, &gate.start) == 2 &&
           is_alive(gate);
}

/// Returns the folder that a mark names. Empty if its gate still runs or belongs to another place.
std::string folder_in(const std::string& mark, const RuntimePlace& place) {
    const std::size_t colon = mark.rfind(':');
    if (colon == std::string::npos) return {};
    std::string folder = mark.substr(0, colon);
    const std::string prefix = place.root + '/';
    if (!folder.starts_with(prefix) || !is_name(folder.substr(prefix.size()))) return {};
    return is_running(mark.substr(colon + 1)) ? "" : folder;
}

std::vector<std::string> folders_in(const RuntimePlace& place) {
    std::vector<std::string> folders;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place.root, error))
        if (is_name(entry.path().filename().string())) folders.push_back(entry.path().string());
    return folders;
}

/// Returns the leftovers that have a mark in their environment.
std::vector<Leftover> marked(const RuntimePlace& place) {
    std::vector<Leftover> found;
    for (const ProcessFacts& process : list_processes()) {
        if (is_zombie(process) || process.id.pid == ::getpid()) continue;
        const auto mark = variable_of(process.id.pid, run_variable);
        std::string folder = mark ? folder_in(*mark, place) : "";
        if (!folder.empty())
            found.push_back({process.id, std::move(folder), command_of(process.id.pid)});
    }
    return found;
}

/// Returns the leftovers that FOLDER/processes lists in each folder, and every process in the
/// listed cgroups. The names of cgroups are unique to a run, so only processes of that run are in
/// them.
std::vector<Leftover> listed(const RuntimePlace& place) {
    std::vector<Leftover> found;
    for (const std::string& folder : folders_in(place)) {
        const KnownProcesses known = read_known(folder);
        for (const ProcessId& id : known.processes)
            if (is_alive(id)) found.push_back({id, folder, command_of(id.pid)});
        for (const std::string& group : known.groups)
            for (const pid_t pid : processes_in_cgroup(group))
                if (const auto now = read_process(pid); now && !is_zombie(*now))
                    found.push_back({now->id, folder, command_of(pid)});
    }
    return found;
}

void wait_for_end(const UniqueFd& process, std::chrono::steady_clock::time_point until) {
    using namespace std::chrono;
    const auto left = duration_cast<milliseconds>(until - steady_clock::now()).count();
    pollfd watched{.fd = process.get(), .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, static_cast<int>(std::max<long>(left, 0)));
}

std::set<std::string> groups_of(const std::vector<Leftover>& leftovers) {
    std::set<std::string> folders;
    for (const Leftover& leftover : leftovers) folders.insert(leftover.folder);
    std::set<std::string> groups;
    for (const std::string& folder : folders)
        for (const std::string& group : read_known(folder).groups) groups.insert(group);
    return groups;
}

void kill_and_wait(const std::vector<Leftover>& leftovers,
                   std::chrono::steady_clock::time_point until) {
    std::vector<UniqueFd> dying;
    for (const Leftover& leftover : leftovers)
        if (UniqueFd process = hold_process(leftover.id); send_signal(process, SIGKILL))
            dying.push_back(std::move(process));
    for (const UniqueFd& process : dying) wait_for_end(process, until);
}

}  // namespace

std::string fresh_run_id(std::uint64_t random) {
    const auto self = read_process(::getpid());
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%d-%" PRIu64 "-%016" PRIx64, ::getpid(),
                  self ? self->id.start : 0, random);
    return text.data();
}

std::string mark_of(const OwnRun& run) { return run.folder + ':' + run.id; }

std::vector<Leftover> find_leftovers(const RuntimePlace& place, const OwnRun& own) {
    std::vector<Leftover> found = marked(place);
    std::ranges::move(listed(place), std::back_inserter(found));
    std::ranges::sort(found, {}, &Leftover::id);
    const auto [first, last] = std::ranges::unique(found, {}, &Leftover::id);
    found.erase(first, last);
    // This comes after the search, so processes of a gate that started meanwhile are not in
    // `found`.
    std::set<std::string> held;
    for (const RunningGate& gate : list_running(place))
        if (gate.folder != own.folder) held.insert(gate.folder);
    std::erase_if(found, [&](const Leftover& leftover) { return held.contains(leftover.folder); });
    return found;
}

std::vector<Leftover> end_leftovers(const RuntimePlace& place, const OwnRun& own,
                                    Duration patience) {
    std::set<std::string> groups;
    std::vector<Leftover> left = find_leftovers(place, own);
    // The time counts from here, because on a busy machine the first search alone may take that
    // long.
    const auto until = std::chrono::steady_clock::now() + patience;
    for (int empty_looks = 0; empty_looks < empty_looks_needed;) {
        empty_looks = left.empty() ? empty_looks + 1 : 0;
        groups.merge(groups_of(left));
        for (const std::string& group : groups) kill_cgroup(group);
        kill_and_wait(left, until);
        std::this_thread::sleep_for(look_every);
        left = find_leftovers(place, own);
        if (std::chrono::steady_clock::now() >= until) break;
    }
    for (const std::string& group : groups) remove_cgroup(group);
    return left;
}

bool are_processes_written(const std::string& folder) {
    struct stat found{};
    const std::string path = folder + '/' + known_file;
    return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

void write_known(const std::string& folder, const KnownProcesses& known) {
    std::string text = "boot " + boot_id() + '\n';
    const auto add = [&](const char* kind, const ProcessId& id) {
        text += kind + (' ' + std::to_string(id.pid)) + ' ' + std::to_string(id.start) + '\n';
    };
    if (const auto self = read_process(::getpid())) add("gate", self->id);
    for (const ProcessId& id : known.processes) add("process", id);
    for (const std::string& group : known.groups) text += "group " + group + '\n';
    // Somebody may have put a folder of his own in place of ours.
    const UniqueFd place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found{};
    if (!place || ::fstat(place.get(), &found) != 0 || found.st_uid != ::geteuid()) return;
    const std::string fresh = std::string(known_file) + ".new";
    {
        const UniqueFd file(::openat(place.get(), fresh.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file || !write_all(file.get(), text)) return;  // the marks can still be found
    }
    if (::renameat(place.get(), fresh.c_str(), place.get(), known_file) == 0) return;
    std::error_code ignored;  // something else has that name
    std::filesystem::remove_all(folder + '/' + known_file, ignored);
    ::renameat(place.get(), fresh.c_str(), place.get(), known_file);
}

}  // namespace turnpike
