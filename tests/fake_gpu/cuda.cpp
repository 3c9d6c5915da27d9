// libcuda.so.1 of the fake driver. Like CUDA it shows only the GPUs that CUDA_VISIBLE_DEVICES
// allows: any value that is not empty stands for the first GPU. A model can use it, and poison its
// context.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "state.h"

namespace {

constexpr int no_device = 100;
constexpr int not_initialized = 3;
constexpr int invalid_device = 101;

constexpr int no_context = 201;

bool is_initialized = false;

// The one context of the process. fake_poison() makes it fail for good.
char context;
int uses = 0;
int poison = 0;
thread_local void* current = nullptr;
thread_local int capture_mode = 0;

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

FAKE_CALL cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
    *flags = 0;
    *is_active = uses > 0 ? 1 : 0;
    return 0;
}

FAKE_CALL cuDevicePrimaryCtxRetain(void** given, int) {
    ++uses;
    *given = &context;
    return 0;
}

FAKE_CALL cuDevicePrimaryCtxRelease_v2(int) {
    --uses;
    return 0;
}

FAKE_CALL cuCtxGetCurrent(void** given) {
    *given = current;
    return 0;
}

FAKE_CALL cuCtxPushCurrent_v2(void* given) {
    current = given;
    return 0;
}

FAKE_CALL cuCtxPopCurrent_v2(void** given) {
    *given = current;
    current = nullptr;
    return 0;
}

FAKE_CALL cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, capture_mode);
    return 0;
}

FAKE_CALL cuStreamQuery(void*) { return current == nullptr ? no_context : poison; }

/// Not a call of CUDA: from now on the context answers with this error.
FAKE_CALL fake_poison(int code) {
    poison = code;
    return 0;
}
