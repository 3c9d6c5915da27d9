// A folder of a test's own, gone with all its files when the test ends.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace turnpike {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder " << name;
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }

    [[nodiscard]] bool has(std::string_view name) const {
        return std::filesystem::exists(path_ / name);
    }

    [[nodiscard]] std::string read(std::string_view name) const {
        std::ifstream in(path_ / name, std::ios::binary);
        EXPECT_TRUE(in) << "no file " << name;
        return {std::istreambuf_iterator<char>(in), {}};
    }

    void write(std::string_view name, std::string_view text) const {
        std::ofstream(path_ / name, std::ios::binary) << text;
    }

private:
    std::filesystem::path path_;
};

}  // namespace turnpike
