// The GPUs of the fake driver: files in the folder that TURNPIKE_FAKE_GPUS names. Every call reads
// them again, so a test can change them while the binary runs. Without the folder there is no GPU.
//
//   gpus             one line per GPU: UUID MEMORY_MIB
//   init, cuda-init  what nvmlInit_v2 and cuInit return; with -1 cuInit crashes
//   held/UUID/PID    how many MiB of memory the process holds, as long as it runs
//   sticky-UUID      the memory stays held after the process has ended, as with a slow driver
//   lost-UUID        the GPU fell off the bus; with a number in it, calls return that code instead
//   hang-UUID        a FIFO: listing the GPU's processes waits until the FIFO is opened for writing.
//                    A process that exits meanwhile without _exit is aborted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fake {

inline constexpr const char* gpu_name = "Fake GPU (Turnpike tests)";

struct Gpu {
    std::string uuid;
    std::uint64_t memory = 0;  // bytes
};

struct Holder {
    std::uint32_t pid = 0;
    std::uint64_t memory = 0;
};

std::vector<Gpu> gpus();
std::vector<Holder> holders_of(const std::string& uuid);

/// Returns the number in the file; 0 if there is no file, `otherwise` if the file is empty.
int code_in(const std::string& file, int otherwise = 0);

void wait_while_hanging(const std::string& uuid);

}  // namespace fake
