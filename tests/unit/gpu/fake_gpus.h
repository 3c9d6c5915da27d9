// A test's own folder with GPUs for the fake driver (tests/fake_gpu/state.h). unit_gpu finds the
// fake libraries by its run path.
#pragma once

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "tests/unit/temporary_folder.h"

namespace turnpike {

class FakeGpus {
public:
    explicit FakeGpus(std::size_t count) {
        std::string lines;
        for (std::size_t i = 0; i < count; ++i) lines += fmt::format("{} 81920\n", uuid(i));
        set("gpus", lines);
        ::setenv("TURNPIKE_FAKE_GPUS", folder_.file("").c_str(), 1);
    }
    ~FakeGpus() { ::unsetenv("TURNPIKE_FAKE_GPUS"); }
    FakeGpus(const FakeGpus&) = delete;
    FakeGpus& operator=(const FakeGpus&) = delete;

    [[nodiscard]] static std::string uuid(std::size_t index) {
        return fmt::format("GPU-fa4e0000-0000-0000-0000-{:012x}", index);
    }

    void set(const std::string& file, const std::string& text) const { folder_.write(file, text); }

    void hold(std::size_t index, long pid, int mib) const {
        const std::string folder = "held/" + uuid(index);
        std::filesystem::create_directories(folder_.file(folder));
        set(fmt::format("{}/{}", folder, pid), std::to_string(mib));
    }

private:
    TemporaryFolder folder_;
};

}  // namespace turnpike
