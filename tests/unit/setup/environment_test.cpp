#include "setup/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
}

TEST(StateFolder, IsWhereTheEnvironmentSays) {
    EXPECT_EQ(state_path("/state", "/home/a", "blue"), "/state/turnpike/blue");
    EXPECT_EQ(state_path("", "/home/a", "blue"), "/home/a/.local/state/turnpike/blue");
}

TEST(StateFolder, IsNeverRelativeToTheCurrentFolder) {
    EXPECT_EQ(state_path("state", "/home/a", "blue"), "/home/a/.local/state/turnpike/blue");
    EXPECT_EQ(state_path("", "home/a", "blue"), "");
    EXPECT_EQ(state_path("", "", "blue"), "");
}

TEST(StateFolder, IsMadeForItsOwnerOnly) {
    const TemporaryFolder folder;
    EXPECT_EQ(make_private_folder(folder.file("a/b/c")), "");
    for (const char* part : {"a", "a/b", "a/b/c"}) EXPECT_EQ(mode_of(folder.file(part)), 0700U);
    EXPECT_EQ(make_private_folder(folder.file("a/b/c")), "") << "it may be there already";
}

TEST(StateFolder, IsClosedToOthersIfItWasOpen) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.file("mine"));
    ASSERT_EQ(::chmod(folder.file("mine").c_str(), 0755), 0);
    EXPECT_EQ(make_private_folder(folder.file("mine")), "");
    EXPECT_EQ(mode_of(folder.file("mine")), 0700U);
}

TEST(StateFolder, SaysWhyItCannotBe) {
    const TemporaryFolder folder;
    folder.write("file", "");
    EXPECT_THAT(
        make_private_folder(folder.file("file/a")),
        HasSubstr("the folder " + folder.file("file/a") + " can't be made: Not a directory"));
    EXPECT_THAT(make_private_folder(folder.file("file")), HasSubstr("can't be used"));
    EXPECT_FALSE(state_folder("../x"));
}

}  // namespace
}  // namespace turnpike
