#include "setup/machine_facts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "config/config.h"
#include "gpu/cuda.h"
#include "gpu/driver.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "setup/environment.h"
#include "setup/gpu_survey.h"

namespace turnpike {
namespace {

/// Returns the name of the process's user, or the user's number if it has no name.
std::string user_of(pid_t pid) {
    struct stat facts{};
    if (::stat(("/proc/" + std::to_string(pid)).c_str(), &facts) != 0) return {};
    std::array<char, 4096> room{};
    passwd entry{};
    passwd* found = nullptr;
    ::getpwuid_r(facts.st_uid, &entry, room.data(), room.size(), &found);
    return found == nullptr ? std::to_string(facts.st_uid) : found->pw_name;
}

MemoryHolder holder_of(const GpuProcess& process) {
    MemoryHolder holder{.pid = process.pid, .memory = process.memory};
    const auto pid = static_cast<pid_t>(process.pid);
    holder.user = user_of(pid);
    if (holder.user.empty()) return holder;
    holder.command = command_of(pid);
    holder.is_of_a_gate = variable_of(pid, run_variable).has_value();
    return holder;
}

std::vector<ExaminedGpu> facts_of(const GpuDriver& driver, const Machine& machine) {
    std::vector<ExaminedGpu> all;
    const std::vector<SurveyedGpu> surveyed = survey_gpus(driver);
    for (std::size_t i = 0; i < driver.gpus().size(); ++i) {
        ExaminedGpu facts{.gpu = driver.gpus()[i], .trouble = surveyed[i].trouble};
        facts.is_visible =
            std::ranges::find(machine.gpus, facts.gpu.uuid, &Gpu::uuid) != machine.gpus.end();
        if (const auto& usage = surveyed[i].usage) {
            facts.memory_used = usage->memory_used;
            for (const GpuProcess& process : usage->processes)
                facts.holders.push_back(holder_of(process));
        }
        all.push_back(std::move(facts));
    }
    return all;
}

std::string first_word_of(const std::filesystem::path& file) {
    std::string word;
    std::ifstream(file) >> word;
    return word;
}

/// Counts NVIDIA's display controllers on the PCI bus, whether or not the driver knows them.
std::size_t count_nvidia_cards() {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& device : std::filesystem::directory_iterator("/sys/bus/pci/devices", none))
        if (first_word_of(device.path() / "vendor") == "0x10de" &&
            first_word_of(device.path() / "class").starts_with("0x03"))
            ++count;
    return count;
}

/// Returns the hard limit, since a process may raise its soft limit up to it.
std::optional<std::uint64_t> limit_of(decltype(RLIMIT_NOFILE) resource) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_max;
}

LimitFacts limits_now() {
    LimitFacts limits{.open_files = limit_of(RLIMIT_NOFILE), .processes = limit_of(RLIMIT_NPROC)};
    if (const auto locked = limit_of(RLIMIT_MEMLOCK)) limits.locked_memory = Bytes{*locked};
    return limits;
}

FolderFacts folder_at(const std::string& path) {
    FolderFacts folder{.path = path};
    struct statfs facts{};
    if (::statfs(path.c_str(), &facts) != 0) return folder;
    const auto block = static_cast<std::uint64_t>(facts.f_bsize);
    folder.size = Bytes{facts.f_blocks * block};
    folder.free = Bytes{facts.f_bavail * block};
    folder.is_in_memory = facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
    folder.is_writable = ::access((path + "/.").c_str(), W_OK | X_OK) == 0;
    return folder;
}

std::string trouble_with_kernel_log() {
    const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    std::array<char, 8192> line{};
    if (log && (::read(log.get(), line.data(), line.size()) >= 0 || errno == EAGAIN ||
                errno == EPIPE))  // EPIPE: the line was overwritten meanwhile
        return {};
    return std::strerror(errno);
}

}  // namespace

MachineFacts gather_facts() {
    MachineFacts facts;
    facts.cuda = cuda_state();  // must come first, since it forks
    const auto driver = GpuDriver::open();
    facts.machine = machine_from(driver, cuda_visible_devices());
    if (driver) {
        facts.driver_version = driver->version();
        facts.troubles = driver->troubles();
        facts.can_look = driver->can_look();
        facts.gpus = facts_of(*driver, facts.machine);
    }
    facts.nvidia_cards = count_nvidia_cards();
    facts.limits = limits_now();
    facts.shared_memory = folder_at("/dev/shm");
    facts.spool = folder_at(GateConfig{}.spool);
    facts.kernel_log_trouble = trouble_with_kernel_log();
    facts.cgroup = cgroup_home();
    facts.py_spy = program_on_path("py-spy");
    const RuntimePlace place = runtime_place();
    facts.gates = list_running(place);
    facts.leftovers = find_leftovers(place, {});
    return facts;
}

}  // namespace turnpike
