#include "state.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fake {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
    const char* name = std::getenv("TURNPIKE_FAKE_GPUS");
    return name == nullptr ? "/nonexistent" : name;
}

bool exists(const std::string& name) {
    std::error_code ignored;
    return fs::exists(folder() / name, ignored);
}

/// False for a zombie, since its memory is free already.
bool lives(const std::string& pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    std::ostringstream all;
    all << in.rdbuf();
    const std::string text = all.str();
    const std::size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

/// A real driver may crash or hang if the process runs the driver's exit handlers while a call is
/// still in it. This one always crashes.
struct Calls {
    ~Calls() {
        if (under_way > 0) std::abort();
    }
    std::atomic<int> under_way = 0;
} calls;

}  // namespace

std::vector<Gpu> gpus() {
    constexpr std::uint64_t mebibyte = 1024 * 1024;
    std::vector<Gpu> found;
    std::ifstream in(folder() / "gpus");
    for (Gpu gpu; in >> gpu.uuid >> gpu.memory;)
        found.push_back({.uuid = gpu.uuid, .memory = gpu.memory * mebibyte});
    return found;
}

std::vector<Holder> holders_of(const std::string& uuid) {
    constexpr std::uint64_t mebibyte = 1024 * 1024;
    const bool is_sticky = exists("sticky-" + uuid);
    std::vector<Holder> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder() / "held" / uuid, none)) {
        const std::string pid = entry.path().filename();
        std::uint64_t mib = 0;
        if (!(is_sticky || lives(pid)) || !(std::ifstream(entry.path()) >> mib)) continue;
        found.push_back({.pid = static_cast<std::uint32_t>(std::strtoul(pid.c_str(), nullptr, 10)),
                         .memory = mib * mebibyte});
    }
    return found;
}

int code_in(const std::string& file, int otherwise) {
    if (!exists(file)) return 0;
    int code = 0;
    return std::ifstream(folder() / file) >> code ? code : otherwise;
}

void wait_while_hanging(const std::string& uuid) {
    ++calls.under_way;
    std::ifstream(folder() / ("hang-" + uuid)).get();  // opening a FIFO waits for a writer
    --calls.under_way;
}

}  // namespace fake
