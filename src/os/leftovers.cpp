#include "os/leftovers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "base/name.h"
#include "os/cgroup.h"

namespace turnpike {
namespace {

constexpr const char* known_file = "processes";

KnownProcesses read_known(const std::string& folder) {
    KnownProcesses known;
    std::ifstream file(folder + '/' + known_file);
    for (std::string kind; file >> kind;) {
        if (kind == "process") {
            ProcessId id;
            if (file >> id.pid >> id.start) known.processes.push_back(id);
        } else if (std::string group; kind == "group" && file >> group) {
            known.groups.push_back(group);
        }
    }
    return known;
}

/// The folder in a mark; empty: it is no mark of a gate in this place, or one of our own run.
std::string folder_in(const std::string& mark, const RuntimePlace& place, const OwnRun& own) {
    const std::size_t colon = mark.rfind(':');
    if (colon == std::string::npos) return {};
    std::string folder = mark.substr(0, colon);
    const std::string prefix = place.root + '/';
    if (!folder.starts_with(prefix) || !is_name(folder.substr(prefix.size()))) return {};
    if (folder == own.folder && mark == mark_of(own)) return {};
    return folder;
}

std::vector<std::string> folders_in(const RuntimePlace& place) {
    std::vector<std::string> folders;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(place.root, error))
        if (is_name(entry.path().filename().string())) folders.push_back(entry.path().string());
    return folders;
}

bool is_zombie(const ProcessFacts& process) { return process.state == 'Z' || process.state == 'X'; }

/// By folder: each is looked at while its lock is ours, or nobody's.
std::vector<Leftover> marked(const RuntimePlace& place, const OwnRun& own) {
    std::vector<Leftover> found;
    for (const ProcessFacts& process : list_processes()) {
        if (is_zombie(process) || process.id.pid == ::getpid()) continue;
        const auto mark = variable_of(process.id.pid, run_variable);
        std::string folder = mark ? folder_in(*mark, place, own) : "";
        if (!folder.empty())
            found.push_back({process.id, std::move(folder), command_of(process.id.pid)});
    }
    return found;
}

std::vector<Leftover> listed(const RuntimePlace& place) {
    std::vector<Leftover> found;
    for (const std::string& folder : folders_in(place))
        for (const ProcessId& id : read_known(folder).processes)
            if (const auto now = read_process(id.pid); now && now->id == id && !is_zombie(*now))
                found.push_back({id, folder, command_of(id.pid)});
    return found;
}

bool wait_for_end(const UniqueFd& process, std::chrono::steady_clock::time_point until) {
    using namespace std::chrono;
    const auto left = duration_cast<milliseconds>(until - steady_clock::now()).count();
    pollfd watched{.fd = process.get(), .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, static_cast<int>(std::max<long>(left, 0))) == 1;
}

}  // namespace

std::string mark_of(const OwnRun& run) { return run.folder + ':' + run.id; }

std::vector<Leftover> find_leftovers(const RuntimePlace& place, const OwnRun& own) {
    std::vector<Leftover> found = marked(place, own);
    std::ranges::move(listed(place), std::back_inserter(found));
    std::ranges::sort(found, {}, &Leftover::id);
    const auto [first, last] = std::ranges::unique(found, {}, &Leftover::id);
    found.erase(first, last);
    // Asked after the look: what a gate starts that came up since was not seen.
    std::set<std::string> held;
    for (const RunningGate& gate : list_running(place))
        if (gate.folder != own.folder) held.insert(gate.folder);
    std::erase_if(found, [&](const Leftover& leftover) { return held.contains(leftover.folder); });
    return found;
}

std::vector<Leftover> end_leftovers(std::vector<Leftover> leftovers, Duration patience) {
    std::set<std::string> folders;
    for (const Leftover& leftover : leftovers) folders.insert(leftover.folder);
    for (const std::string& folder : folders)
        for (const std::string& group : read_known(folder).groups) kill_cgroup(group);
    std::vector<std::pair<Leftover, UniqueFd>> dying;
    for (Leftover& leftover : leftovers)
        if (UniqueFd process = hold_process(leftover.id); send_signal(process, SIGKILL))
            dying.emplace_back(std::move(leftover), std::move(process));
    const auto until = std::chrono::steady_clock::now() + patience;
    std::vector<Leftover> stay;
    for (auto& [leftover, process] : dying)
        if (!wait_for_end(process, until)) stay.push_back(std::move(leftover));
    for (const std::string& folder : folders)
        for (const std::string& group : read_known(folder).groups) remove_cgroup(group);
    return stay;
}

void write_known(const std::string& folder, const KnownProcesses& known) {
    std::string text;
    for (const ProcessId& id : known.processes)
        text += "process " + std::to_string(id.pid) + ' ' + std::to_string(id.start) + '\n';
    for (const std::string& group : known.groups) text += "group " + group + '\n';
    const std::string path = folder + '/' + known_file;
    const std::string fresh = path + ".new";
    {
        const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!file ||
            ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            return;  // the marks remain
    }
    std::rename(fresh.c_str(), path.c_str());
}

}  // namespace turnpike
