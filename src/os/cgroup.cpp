#include "os/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/leading_number.h"
#include "os/file.h"
#include "os/process.h"

namespace turnpike {
namespace {

/// Returns where cgroup2 is mounted: the fifth word of the mountinfo line with " - cgroup2 ".
std::string mount_point() {
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        if (!line.contains(" - cgroup2 ")) continue;
        std::istringstream words(line);
        std::string word;
        for (int i = 0; i < 5; ++i) words >> word;
        return word;
    }
    return {};
}

/// Returns our own group below the mount point, from the line "0::/path".
std::string own_group() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        if (line.starts_with("0::/")) return line == "0::/" ? "" : line.substr(3);
    return {};
}

bool write_word(const std::string& path, std::string_view word) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file &&
           ::write(file.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

}  // namespace

std::optional<std::string> cgroup_home() {
    const std::string mount = mount_point();
    if (mount.empty()) return std::nullopt;
    std::string home = mount + own_group();
    const std::string trial = make_cgroup(home, "turnpike-trial-" + std::to_string(::getpid()));
    if (trial.empty()) return std::nullopt;
    const bool can_kill = ::access((trial + "/cgroup.kill").c_str(), W_OK) == 0;
    remove_cgroup(trial);
    return can_kill ? std::optional(std::move(home)) : std::nullopt;
}

std::string make_cgroup(const std::string& home, const std::string& name) {
    std::string group = home + '/' + name;
    return ::mkdir(group.c_str(), 0755) == 0 ? group : "";
}

bool join_cgroup(const std::string& group) { return write_word(group + "/cgroup.procs", "0"); }

bool kill_cgroup(const std::string& group) { return write_word(group + "/cgroup.kill", "1"); }

std::vector<pid_t> processes_in_cgroup(const std::string& group) {
    std::ifstream list(group + "/cgroup.procs");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
    return pids;
}

void remove_cgroup(const std::string& group) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(group, error))
        if (entry.is_directory(error)) remove_cgroup(entry.path().string());  // made by a worker
    ::rmdir(group.c_str());
}

void remove_dead_cgroups(const std::string& home) {
    constexpr std::string_view prefix = "turnpike-";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(home, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const auto gate = leading_number<pid_t>(std::string_view(name).substr(prefix.size()));
        if (gate > 0 && !read_process(gate)) remove_cgroup(entry.path().string());
    }
}

}  // namespace turnpike
