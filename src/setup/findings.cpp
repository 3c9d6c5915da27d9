#include "setup/findings.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

using enum Finding::Mark;

/// Adds findings to one section.
class Notes {
public:
    Notes(std::vector<Finding>& all, std::string_view section) : all_(all), section_(section) {}

    void fine(std::string what) { add(ok, std::move(what), {}); }
    void warning(std::string what, std::string advice) {
        add(warn, std::move(what), std::move(advice));
    }
    void wrong(std::string what, std::string advice) {
        add(bad, std::move(what), std::move(advice));
    }
    /// Adds a warning with the advice, or no warning if `is_fine`.
    void judge(bool is_fine, std::string what, std::string_view advice) {
        is_fine ? fine(std::move(what)) : warning(std::move(what), std::string(advice));
    }

private:
    void add(Finding::Mark mark, std::string what, std::string advice) {
        all_.push_back({mark, std::string(section_), std::move(what), std::move(advice)});
    }

    std::vector<Finding>& all_;
    std::string_view section_;
};

/// Returns "512 MiB" or "79.6 GiB".
std::string text_of(Bytes bytes) {
    if (bytes < gibibyte) return fmt::format("{} MiB", bytes.count / mebibyte.count);
    return fmt::format("{:.1f} GiB",
                       static_cast<double>(bytes.count) / static_cast<double>(gibibyte.count));
}

std::string text_of(const std::optional<Bytes>& bytes) {
    return bytes ? text_of(*bytes) : "unlimited";
}

std::string text_of(const std::optional<std::uint64_t>& count) {
    return count ? std::to_string(*count) : "unlimited";
}

std::string short_name(const Gpu& gpu) {
    return gpu.index ? fmt::format("GPU {}", *gpu.index) : gpu.uuid;
}

void add_no_gpus(Notes notes, const MachineFacts& facts) {
    std::string what = fmt::format("no GPU: {}; `up` will serve on four CPU lanes",
                                   sanitized(facts.machine.no_gpus));
    if (!facts.gpus.empty())
        notes.warning(std::move(what), "unset CUDA_VISIBLE_DEVICES, or name GPUs that are there");
    else if (facts.nvidia_cards > 0)
        notes.warning(fmt::format("{} (there is an NVIDIA card on the PCI bus)", what),
                      "install NVIDIA's driver, or repair it until nvidia-smi works");
    else
        notes.fine(std::move(what));
}

void add_gpus(Notes notes, const MachineFacts& facts) {
    if (facts.machine.gpus.empty()) add_no_gpus(notes, facts);
    if (!facts.machine.remark.empty())
        notes.warning(sanitized(facts.machine.remark), "correct CUDA_VISIBLE_DEVICES");
    for (const ExaminedGpu& gpu : facts.gpus) {
        const std::string who = fmt::format("{}  {}  {}", short_name(gpu.gpu),
                                            sanitized(gpu.gpu.name), sanitized(gpu.gpu.uuid));
        const std::string hidden = gpu.is_visible ? "" : "  (hidden by CUDA_VISIBLE_DEVICES)";
        if (!gpu.trouble.empty()) {
            notes.wrong(
                fmt::format("{}  {}{}", who, gpu.trouble, hidden),
                "look for NVRM and Xid in the kernel's log; then nvidia-smi --gpu-reset, or "
                "reboot");
            continue;
        }
        const std::string used = gpu.memory_used ? text_of(*gpu.memory_used) : "?";
        notes.fine(
            fmt::format("{}  {} of {} in use{}", who, used, text_of(gpu.gpu.memory_total), hidden));
    }
}

void add_driver(Notes notes, const MachineFacts& facts) {
    if (!facts.driver_version.empty())
        notes.fine(fmt::format("driver {}", sanitized(facts.driver_version)));
    for (const std::string& trouble : facts.troubles)
        if (facts.can_look)
            notes.wrong(sanitized(trouble), "repair the driver until nvidia-smi shows every GPU");
        else
            notes.warning(sanitized(trouble), "install the driver's NVML (libnvidia-ml1)");
    if (facts.cuda)
        notes.fine(*facts.cuda);
    else if (facts.gpus.empty())
        notes.fine(fmt::format("no CUDA: {}", sanitized(facts.cuda.error())));
    else
        notes.wrong(sanitized(facts.cuda.error()),
                    "no worker can use a GPU until this works; reinstall the driver, or give the "
                    "container its libraries (nvidia-container-toolkit, capability compute)");
}

void add_holder(Notes notes, const ExaminedGpu& gpu, const MemoryHolder& holder) {
    const std::string memory = holder.memory ? text_of(*holder.memory) : "memory";
    const std::string where = short_name(gpu.gpu);
    if (holder.user.empty())
        return notes.warning(fmt::format("{}: pid {} holds {}, but can't be seen from here", where,
                                         holder.pid, memory),
                             "look outside this container");
    std::string what = fmt::format("{}: pid {} of {} holds {}: {}", where, holder.pid,
                                   sanitized(holder.user), memory, sanitized(holder.command));
    if (holder.is_of_a_gate) return notes.fine(std::move(what) + "  (a worker of Turnpike)");
    notes.warning(std::move(what), fmt::format("if nobody needs it: kill {}", holder.pid));
}

/// Warns of used memory that belongs to no process, such as memory that a bare file descriptor
/// holds.
void add_unexplained(Notes notes, const ExaminedGpu& gpu) {
    Bytes explained;
    for (const MemoryHolder& holder : gpu.holders) {
        if (!holder.memory) return;
        explained = explained + *holder.memory;
    }
    const Bytes rest = gpu.memory_used.value_or(Bytes{}) - explained;
    if (rest > gibibyte)
        notes.warning(fmt::format("{}: {} are in use, but belong to no process",
                                  short_name(gpu.gpu), text_of(rest)),
                      "see who has the device open: sudo fuser -v /dev/nvidia*");
}

void add_memory(Notes notes, const MachineFacts& facts) {
    if (facts.gpus.empty()) return;
    for (const ExaminedGpu& gpu : facts.gpus) {
        for (const MemoryHolder& holder : gpu.holders) add_holder(notes, gpu, holder);
        add_unexplained(notes, gpu);
    }
    const bool is_free = std::ranges::all_of(
        facts.gpus, [](const ExaminedGpu& gpu) { return gpu.memory_used && gpu.holders.empty(); });
    if (is_free) notes.fine("no process holds memory on a GPU");
}

void add_limits(Notes notes, const MachineFacts& facts) {
    constexpr std::uint64_t open_files_few = 4096;
    constexpr std::uint64_t processes_few = 1024;
    const LimitFacts& limits = facts.limits;
    notes.judge(!limits.open_files || *limits.open_files >= open_files_few,
                fmt::format("open files: {}", text_of(limits.open_files)),
                "every client takes one; raise it: ulimit -Hn 65536, or LimitNOFILE= in systemd");
    notes.judge(!limits.processes || *limits.processes >= processes_few,
                fmt::format("processes of this user: {}", text_of(limits.processes)),
                "threads count too; raise it: ulimit -Hu 32768, or TasksMax= in systemd");
    notes.fine(fmt::format("locked memory: {}", text_of(limits.locked_memory)));
    const FolderFacts& shared = facts.shared_memory;
    if (!shared.size) return notes.warning("there is no /dev/shm", "mount a tmpfs there");
    notes.judge(*shared.size >= gibibyte, fmt::format("/dev/shm: {}", text_of(*shared.size)),
                "PyTorch and NCCL share memory there; in a container: --shm-size=8g");
}

void add_spool(Notes notes, const FolderFacts& spool) {
    if (!spool.free || !spool.is_writable)
        return notes.wrong(fmt::format("{} can't be written", spool.path),
                           "large requests wait there; set gate.spool to another folder");
    const std::string what = fmt::format("{}: {} free", spool.path, text_of(*spool.free));
    if (spool.is_in_memory)
        return notes.warning(what + ", in memory (tmpfs)",
                             "large requests wait there; set gate.spool to a folder on a disk");
    notes.judge(*spool.free >= gibibyte, what,
                "large requests wait there; make room, or set gate.spool to another folder");
}

void add_tools(Notes notes, const MachineFacts& facts) {
    notes.judge(facts.kernel_log_trouble.empty(),
                facts.kernel_log_trouble.empty()
                    ? "the kernel's log can be read"
                    : fmt::format("the kernel's log can't be read: {}", facts.kernel_log_trouble),
                "crash reports then lack its out-of-memory and Xid lines; allow it: sudo sysctl "
                "kernel.dmesg_restrict=0");
    notes.fine(facts.cgroup ? fmt::format("cgroup v2: groups in {}", sanitized(*facts.cgroup))
                            : "cgroup v2: can't be used here; guards end workers without it");
    notes.judge(!facts.py_spy.empty(),
                facts.py_spy.empty() ? "py-spy is not on the PATH"
                                     : fmt::format("py-spy: {}", sanitized(facts.py_spy)),
                "`turnpike stacks` needs it for HTTP workers in Python: pip install py-spy");
}

void add_gates(Notes notes, const MachineFacts& facts) {
    for (const RunningGate& gate : facts.gates)
        notes.fine(fmt::format("gate {} is running, pid {}", sanitized(gate.name), gate.pid));
    if (facts.gates.empty()) notes.fine("no gate is running");
    for (const Leftover& left : facts.leftovers)
        notes.warning(fmt::format("pid {} was left behind by the gate of {}: {}", left.id.pid,
                                  sanitized(left.folder), sanitized(left.command)),
                      fmt::format("the next `turnpike up` ends it; or: kill -9 {}", left.id.pid));
}

}  // namespace

std::vector<Finding> findings_about(const MachineFacts& facts) {
    std::vector<Finding> all;
    add_gpus({all, "GPUs"}, facts);
    add_driver({all, "driver"}, facts);
    add_memory({all, "memory on GPUs"}, facts);
    add_limits({all, "limits"}, facts);
    add_spool({all, "spool"}, facts.spool);
    add_tools({all, "tools"}, facts);
    add_gates({all, "gates"}, facts);
    return all;
}

}  // namespace turnpike
