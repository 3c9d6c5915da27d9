#include "setup/sdk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> sources() {
    std::vector<std::string> names{"turnpike_worker.py"};
    const fs::path root(TURNPIKE_SDK_FOLDER);
    for (const auto& entry : fs::recursive_directory_iterator(root / "turnpike"))
        if (entry.path().extension() == ".py" || entry.path().filename() == "py.typed")
            names.push_back(entry.path().lexically_relative(root));
    return names;
}

TEST(Sdk, WrittenDownIsWhatTheSourcesAre) {
    const TemporaryFolder folder;
    const std::string sdk = folder.file("sdk");
    ASSERT_EQ(write_sdk(sdk), std::nullopt);
    EXPECT_EQ(sdk_files().size(), sources().size());
    for (const std::string& name : sources())
        EXPECT_EQ(bytes_of(sdk + '/' + name), bytes_of(fs::path(TURNPIKE_SDK_FOLDER) / name))
            << name;
    EXPECT_THAT(sources(), Contains("turnpike/_worker/__init__.py"));
}

TEST(Sdk, IsForItsOwnerOnly) {
    const TemporaryFolder folder;
    ASSERT_EQ(write_sdk(folder.file("sdk")), std::nullopt);
    for (const char* name : {"sdk", "sdk/turnpike", "sdk/turnpike/_worker"})
        EXPECT_EQ(fs::status(folder.file(name)).permissions(), fs::perms::owner_all) << name;
    EXPECT_EQ(fs::status(folder.file("sdk/turnpike_worker.py")).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
}

TEST(Sdk, TakesThePlaceOfAnOlderOne) {
    const TemporaryFolder folder;
    const std::string sdk = folder.file("sdk");
    fs::create_directories(sdk + "/turnpike/__pycache__");
    folder.write("sdk/turnpike/__pycache__/old.pyc", "x");
    folder.write("sdk/turnpike/gone.py", "x");
    folder.write("sdk/turnpike/__init__.py", "old");
    ASSERT_EQ(write_sdk(sdk), std::nullopt);
    EXPECT_FALSE(folder.has("sdk/turnpike/__pycache__"));
    EXPECT_FALSE(folder.has("sdk/turnpike/gone.py"));
    EXPECT_NE(folder.read("sdk/turnpike/__init__.py"), "old");
}

TEST(Sdk, IsNotWrittenThroughALink) {
    const TemporaryFolder folder;
    fs::create_directory(folder.file("elsewhere"));
    folder.write("elsewhere/kept", "x");
    fs::create_directory_symlink(folder.file("elsewhere"), folder.file("sdk"));
    ASSERT_EQ(write_sdk(folder.file("sdk")), std::nullopt);
    EXPECT_FALSE(fs::is_symlink(folder.file("sdk")));
    EXPECT_TRUE(folder.has("elsewhere/kept"));
    EXPECT_FALSE(folder.has("elsewhere/turnpike_worker.py"));
}

TEST(Sdk, SaysWhyItCannotBeWritten) {
    EXPECT_THAT(write_sdk("/dev/null/sdk").value(), HasSubstr("/dev/null"));
}

TEST(Sdk, IsTouchedSoThatNoCleanUpRemovesIt) {
    const TemporaryFolder folder;
    ASSERT_EQ(write_sdk(folder.file("sdk")), std::nullopt);
    const fs::path file = folder.file("sdk/turnpike/__init__.py");
    const auto written = fs::last_write_time(file);
    fs::last_write_time(file, written - std::chrono::hours(24));
    touch_sdk(folder.file("sdk"));
    EXPECT_GE(fs::last_write_time(file), written);
}

TEST(Sdk, IsRenewedWhereFilesAreGoneOrWereReplaced) {
    const TemporaryFolder folder;
    const std::string home = folder.file("sdk");
    ASSERT_EQ(write_sdk(home), std::nullopt);
    for (const SdkFile& file : sdk_files()) {
        const fs::path path = fs::path(home) / file.path;
        for (const auto harm :
             {+[](const fs::path& at) { fs::remove(at); },
              +[](const fs::path& at) { std::ofstream(at) << "x"; },
              +[](const fs::path& at) { fs::remove(at), fs::create_directory(at); },
              +[](const fs::path& at) { fs::remove(at), fs::create_symlink("/etc/passwd", at); }}) {
            harm(path);
            EXPECT_EQ(renew_sdk(home), std::nullopt);
            EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << path;
            EXPECT_EQ(bytes_of(path), file.text);
        }
    }
    EXPECT_NE(fs::file_size("/etc/passwd"), 0U);
    for (const std::string lost : {"/turnpike/_worker", "/turnpike", ""}) {
        fs::remove_all(home + lost);
        fs::create_symlink("/etc", home + lost);
        EXPECT_EQ(renew_sdk(home), std::nullopt) << lost;
        EXPECT_FALSE(fs::is_symlink(home + lost));
        EXPECT_TRUE(fs::exists(home + "/turnpike/_worker/worker.py"));
    }
}

}  // namespace
}  // namespace turnpike
