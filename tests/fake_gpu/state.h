// The GPUs of the fake driver: files of the folder that TURNPIKE_FAKE_GPUS names, read anew by every
// call, so that a test changes them under a binary that runs. No folder: no GPU.
//
//   gpus             a line each: UUID MEMORY_MIB
//   init, cuda-init  what nvmlInit_v2 and cuInit return; -1: cuInit crashes
//   held/UUID/PID    that process holds so many MiB of memory, as long as it lives
//   sticky-UUID      the memory is held although the process is gone: a driver that lags
//   lost-UUID        the GPU fell off the bus; with a number in it, calls return that code instead
//   hang-UUID        a FIFO: listing its processes waits until somebody opens that to write
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

/// The number in that file; 0 if there is none, `otherwise` if it is empty.
int code_in(const std::string& file, int otherwise = 0);

void wait_while_hanging(const std::string& uuid);

}  // namespace fake
