// Gathers the facts about this machine that `doctor` shows. findings.cpp judges them.
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

/// A process that holds memory on a GPU.
struct MemoryHolder {
    std::int64_t pid = 0;
    std::string user;     // empty if the process can't be seen from here
    std::string command;  // empty in the same case
    std::optional<Bytes> memory;
    bool is_of_a_gate = false;  // its environment says that a gate started it
};

struct ExaminedGpu {
    Gpu gpu;
    bool is_visible = true;            // CUDA_VISIBLE_DEVICES allows it
    std::optional<Bytes> memory_used;  // nullopt if not known
    std::string trouble;               // why the GPU could not be read
    std::vector<MemoryHolder> holders;
};

struct LimitFacts {  // nullopt means unlimited
    std::optional<std::uint64_t> open_files;
    std::optional<std::uint64_t> processes;
    std::optional<Bytes> locked_memory;
};

struct FolderFacts {
    std::string path;
    std::optional<Bytes> size, free;  // nullopt if the folder can't be read
    bool is_in_memory = false;        // a tmpfs
    bool is_writable = false;
};

struct MachineFacts {
    std::string driver_version;
    std::vector<ExaminedGpu> gpus;      // every GPU that the driver shows
    std::vector<std::string> troubles;  // what is wrong with the driver
    bool can_look = true;               // false if there is a driver without NVML
    Machine machine;                    // what `up` would serve on
    std::size_t nvidia_cards = 0;       // on the PCI bus, with or without a driver
    std::expected<std::string, std::string> cuda;
    LimitFacts limits;
    FolderFacts shared_memory;
    FolderFacts spool;
    std::string kernel_log_trouble;     // empty if it can be read
    std::optional<std::string> cgroup;  // where we may make control groups
    std::string py_spy;                 // its path; empty if it is not on the PATH
    std::vector<RunningGate> gates;
    std::vector<Leftover> leftovers;
};

/// Takes seconds, since it starts the CUDA driver in a child process. Must be called before there
/// are other threads.
[[nodiscard]] MachineFacts gather_facts();

}  // namespace turnpike
