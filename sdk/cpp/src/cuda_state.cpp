#include "cuda_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace turnpike::inside {

namespace {

// Errors after which a context, or the GPU, is of no more use. sdk/python has the same, and says
// what they mean.
constexpr auto poisoned =
    std::to_array({214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999});

bool is_fatal(int code) { return std::ranges::find(poisoned, code) != poisoned.end(); }

using Context = struct OpaqueContext*;

/// The calls of libcuda.so.1 that are needed. A missing one is nullptr.
class Driver {
public:
    Driver() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
        if (library_ == nullptr) return;  // nothing in this process has loaded CUDA
        find(current, "cuCtxGetCurrent");
        find(push, "cuCtxPushCurrent_v2");
        find(pop, "cuCtxPopCurrent_v2");
        find(device_count, "cuDeviceGetCount");
        find(state, "cuDevicePrimaryCtxGetState");
        find(retain, "cuDevicePrimaryCtxRetain");
        find(release, "cuDevicePrimaryCtxRelease_v2");
        find(exchange_mode, "cuThreadExchangeStreamCaptureMode");
        find(query_stream, "cuStreamQuery");
    }
    ~Driver() {
        if (library_ != nullptr) ::dlclose(library_);
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    [[nodiscard]] bool has_all_calls() const { return library_ != nullptr && missing_ == 0; }

    int (*current)(Context*) = nullptr;
    int (*push)(Context) = nullptr;
    int (*pop)(Context*) = nullptr;
    int (*device_count)(int*) = nullptr;
    int (*state)(int device, unsigned* flags, int* is_active) = nullptr;
    int (*retain)(Context*, int device) = nullptr;
    int (*release)(int device) = nullptr;
    int (*exchange_mode)(int*) = nullptr;
    int (*query_stream)(void*) = nullptr;

private:
    template <class Call>
    void find(Call& call, const char* name) {
        call = reinterpret_cast<Call>(::dlsym(library_, name));
        if (call == nullptr) ++missing_;
    }

    void* library_;
    int missing_ = 0;
};

/// Returns the error of the thread's current context. Asks in relaxed mode, so that a graph that
/// another thread captures is not spoiled, and about a stream that nobody else uses.
int state_of_current(const Driver& cuda) {
    int mode = 2;  // relaxed
    cuda.exchange_mode(&mode);
    void* const per_thread_stream = reinterpret_cast<void*>(2);
    const int code = cuda.query_stream(per_thread_stream);
    cuda.exchange_mode(&mode);
    return code;
}

/// Returns the error of the context that frameworks share on this GPU; 0 if there is none.
int state_of_primary(const Driver& cuda, int device) {
    unsigned flags = 0;
    int is_active = 0;
    if (const int code = cuda.state(device, &flags, &is_active); is_active == 0) return code;
    Context context = nullptr;
    if (const int code = cuda.retain(&context, device); code != 0) return code;
    int code = cuda.push(context);
    if (code == 0) {
        code = state_of_current(cuda);
        cuda.pop(&context);
    }
    cuda.release(device);
    return code;
}

}  // namespace

bool is_cuda_poisoned() {
    const Driver cuda;
    if (!cuda.has_all_calls()) return false;
    Context context = nullptr;
    if (cuda.current(&context) == 0 && context != nullptr && is_fatal(state_of_current(cuda)))
        return true;
    int count = 0;
    cuda.device_count(&count);
    for (int device = 0; device < count; ++device)
        if (is_fatal(state_of_primary(cuda, device))) return true;
    return false;
}

}  // namespace turnpike::inside
