#include "gpu/cuda.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/leading_number.h"
#include "gpu/in_child.h"
#include "gpu/library.h"

namespace turnpike {
namespace {

constexpr Duration cuda_answer_max = 60s;  // machines with many GPUs take seconds
constexpr std::string_view worked = "ok";

struct CudaUuid {
    std::array<std::uint8_t, 16> bytes;
};
static_assert(sizeof(CudaUuid) == 16);

using CudaDevice = int;

struct Calls {  // of the driver's binary interface; each returns 0 or an error code
    int (*init)(unsigned flags);
    int (*version)(int*);
    int (*count)(int*);
    int (*device)(CudaDevice*, int ordinal);
    int (*name)(char*, int size, CudaDevice);
    int (*uuid)(CudaUuid*, CudaDevice);
    int (*memory)(std::size_t*, CudaDevice);
    int (*bus_id)(char*, int size, CudaDevice);

    [[nodiscard]] std::string bind(const Library& library) {
        std::string missing;
        library.need(init, "cuInit", missing);
        library.need(version, "cuDriverGetVersion", missing);
        library.need(count, "cuDeviceGetCount", missing);
        library.need(device, "cuDeviceGet", missing);
        library.need(name, "cuDeviceGetName", missing);
        library.need(uuid, "cuDeviceGetUuid", missing);
        library.need(memory, "cuDeviceTotalMem_v2", missing);
        library.need(bus_id, "cuDeviceGetPCIBusId", missing);
        return missing;
    }
};

std::string words_for(int code) {
    switch (code) {
        case 100: return "it finds no device (100)";
        case 802: return "the system is not ready yet (802); does nvidia-fabricmanager run?";
        case 803:
            return "the driver in the kernel and its libraries are of different versions (803); "
                   "reboot";
        case 804: return "its forward compatibility libraries do not support this GPU (804)";
        case 999:
            return "an unknown error (999); look at the kernel's log for lines with NVRM or Xid";
        default: return fmt::format("error {}", code);
    }
}

std::string text_of(const CudaUuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", uuid.bytes[i]);
    }
    return text;
}

/// Returns a line with uuid, memory, bus and name, separated by blanks. Empty if the device can't
/// be asked.
std::string line_of(const Calls& calls, int ordinal) {
    CudaDevice device = 0;
    CudaUuid uuid{};
    std::size_t memory = 0;
    std::array<char, 96> name{};
    std::array<char, 32> bus_id{};
    if (calls.device(&device, ordinal) != 0 || calls.uuid(&uuid, device) != 0) return {};
    if (calls.memory(&memory, device) != 0) memory = 0;
    if (calls.name(name.data(), name.size() - 1, device) != 0) name = {"GPU"};
    if (calls.bus_id(bus_id.data(), bus_id.size() - 1, device) != 0) bus_id = {"?"};
    return fmt::format("{} {} {} {}\n", text_of(uuid), memory, bus_id.data(), name.data());
}

/// Runs in the child. Returns "ok VERSION" and a line for each GPU, or an error message.
std::string ask_cuda() {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    const auto library = Library::open("libcuda.so.1");
    if (!library) return library.error();
    Calls calls{};
    if (const std::string missing = calls.bind(*library); !missing.empty())
        return fmt::format("libcuda.so.1 has no {}: the driver is too old", missing);
    int version = 0;
    int count = 0;
    if (const int code = calls.init(0); code != 0) return "CUDA does not start: " + words_for(code);
    if (const int code = calls.version(&version); code != 0)
        return "CUDA does not report its version: " + words_for(code);
    if (const int code = calls.count(&count); code != 0)
        return "CUDA does not count its devices: " + words_for(code);
    std::string text = fmt::format("{} {}\n", worked, version);
    for (int ordinal = 0; ordinal < count; ++ordinal) text += line_of(calls, ordinal);
    return text;
}

/// Returns the text before the next `end`, and removes it and the `end` from `text`.
std::string_view cut(std::string_view& text, char end) {
    const std::size_t at = text.find(end);
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return part;
}

CudaListing listing_of(std::string_view text) {
    std::string_view first = cut(text, '\n');
    cut(first, ' ');
    CudaListing listing{.version = leading_number<int>(first), .gpus = {}};
    while (!text.empty()) {
        std::string_view line = cut(text, '\n');
        Gpu gpu{.index = static_cast<std::uint32_t>(listing.gpus.size())};
        gpu.uuid = cut(line, ' ');
        gpu.memory_total = {leading_number<std::uint64_t>(cut(line, ' '))};
        gpu.bus_id = cut(line, ' ');
        gpu.name = line;
        listing.gpus.push_back(std::move(gpu));
    }
    return listing;
}

}  // namespace

std::expected<CudaListing, std::string> list_by_cuda() {
    const auto answer = in_child(ask_cuda, cuda_answer_max);
    if (!answer) return std::unexpected("CUDA does not start: " + answer.error());
    if (answer->empty())
        return std::unexpected("CUDA does not start: the process that asked was killed");
    if (!answer->starts_with(worked)) return std::unexpected(*answer);
    return listing_of(*answer);
}

std::string version_text(const CudaListing& listing) {
    return fmt::format("CUDA {}.{}", listing.version / 1000, listing.version % 1000 / 10);
}

std::expected<std::string, std::string> cuda_state() {
    const auto listing = list_by_cuda();
    if (!listing) return std::unexpected(listing.error());
    return fmt::format("{}, {} device{}", version_text(*listing), listing->gpus.size(),
                       listing->gpus.size() == 1 ? "" : "s");
}

}  // namespace turnpike
