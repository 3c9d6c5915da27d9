// What there is to know about this machine, as `doctor` asks for it. Gathered here, judged in
// doctor.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "gpu/gpu.h"
#include "os/leftovers.h"
#include "os/runtime_folder.h"

namespace turnpike {

/// Somebody who holds memory on a GPU.
struct MemoryHolder {
    std::int64_t pid = 0;
    std::string user;     // empty: the process can't be seen from here
    std::string command;  // the same
    std::optional<Bytes> memory;
    bool is_of_a_gate = false;  // it carries the mark of one of ours
};

struct ExaminedGpu {
    Gpu gpu;
    bool is_visible = true;            // CUDA_VISIBLE_DEVICES allows it
    std::optional<Bytes> memory_used;  // nothing: not known
    std::string trouble;               // it should be known, and this is why it is not
    std::vector<MemoryHolder> holders;
};

struct LimitFacts {  // nothing: unlimited
    std::optional<std::uint64_t> open_files;
    std::optional<std::uint64_t> processes;
    std::optional<Bytes> locked_memory;
};

struct FolderFacts {
    std::string path;
    std::optional<Bytes> size, free;  // nothing: it can't be looked at
    bool is_in_memory = false;        // a tmpfs
    bool is_writable = false;
};

struct MachineFacts {
    std::string driver_version;
    std::vector<ExaminedGpu> gpus;      // all that the driver shows
    std::vector<std::string> troubles;  // of the driver
    bool can_look = true;               // there is NVML, or no driver at all
    Machine machine;                    // what `up` would serve on
    std::size_t nvidia_cards = 0;       // on the PCI bus, driver or not
    std::expected<std::string, std::string> cuda;
    LimitFacts limits;
    FolderFacts shared_memory;
    FolderFacts spool;
    std::string kernel_log_trouble;     // empty: it can be read
    std::optional<std::string> cgroup;  // where groups of ours may be made
    std::string py_spy;                 // where it is; empty: nowhere
    std::vector<RunningGate> gates;
    std::vector<Leftover> leftovers;
};

/// Takes seconds: it starts the CUDA driver in a child. To be called before there are other threads.
[[nodiscard]] MachineFacts gather_facts();

}  // namespace turnpike
