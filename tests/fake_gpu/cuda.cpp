// libcuda.so.1 of the fake driver. Like CUDA it shows only the GPUs that CUDA_VISIBLE_DEVICES
// allows: any value that is not empty stands for the first GPU.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "state.h"

namespace {

constexpr int no_device = 100;
constexpr int not_initialized = 3;
constexpr int invalid_device = 101;

bool is_initialized = false;

std::size_t visible_count() {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::size_t all = fake::gpus().size();
    if (visible == nullptr) return all;
    return std::min<std::size_t>(all, *visible == '\0' ? 0 : 1);
}

}  // namespace

#define FAKE_CALL extern "C" __attribute__((visibility("default"))) int

FAKE_CALL cuInit(unsigned) {
    if (const int code = fake::code_in("cuda-init"); code < 0)
        std::abort();
    else if (code != 0)
        return code;
    if (visible_count() == 0) return no_device;
    is_initialized = true;
    return 0;
}

FAKE_CALL cuDriverGetVersion(int* version) {
    *version = 12040;
    return 0;
}

FAKE_CALL cuDeviceGetCount(int* count) {
    if (!is_initialized) return not_initialized;
    *count = static_cast<int>(visible_count());
    return 0;
}

FAKE_CALL cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < static_cast<int>(visible_count()) ? 0 : invalid_device;
}

FAKE_CALL cuDeviceGetName(char* text, int size, int) {
    std::snprintf(text, static_cast<std::size_t>(size), "%s", fake::gpu_name);
    return 0;
}

FAKE_CALL cuDeviceGetUuid(unsigned char* bytes, int device) {
    std::string digits = fake::gpus()[static_cast<std::size_t>(device)].uuid.substr(4);
    std::erase(digits, '-');
    for (std::size_t i = 0; i < 16; ++i)
        bytes[i] =
            static_cast<unsigned char>(std::strtoul(digits.substr(i * 2, 2).c_str(), nullptr, 16));
    return 0;
}

FAKE_CALL cuDeviceTotalMem_v2(std::size_t* memory, int device) {
    *memory = fake::gpus()[static_cast<std::size_t>(device)].memory;
    return 0;
}

FAKE_CALL cuDeviceGetPCIBusId(char* text, int size, int device) {
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0",
                  static_cast<unsigned>(device));
    return 0;
}
