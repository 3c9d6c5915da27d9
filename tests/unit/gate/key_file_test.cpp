#include "gate/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::HasSubstr;
using Need = KeyFile::Need;

std::string made(const TemporaryFolder& folder, std::string_view name) {
    const auto text = new_key(folder.file("keys"), name, Access::plain);
    EXPECT_TRUE(text) << text.error();
    return text.value_or("");
}

TEST(KeyFile, TakesNewKeysWithoutARestart) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    KeyFile file(folder.file("keys"), Need::if_there_are_any);
    EXPECT_TRUE(file.is_required());
    EXPECT_NE(file.ring().find(alice), nullptr);
    EXPECT_FALSE(file.refresh()) << "nothing changed";

    const std::string bob = made(folder, "bob");
    EXPECT_EQ(file.ring().find(bob), nullptr);
    EXPECT_TRUE(file.refresh());
    EXPECT_NE(file.ring().find(bob), nullptr);
    EXPECT_NE(file.ring().find(alice), nullptr);
    EXPECT_EQ(file.problem(), "");
}

TEST(KeyFile, DropsRevokedKeysWithoutARestart) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    made(folder, "bob");
    KeyFile file(folder.file("keys"), Need::required);
    ASSERT_TRUE(revoke_key(folder.file("keys"), "alice"));
    EXPECT_TRUE(file.refresh());
    EXPECT_EQ(file.ring().find(alice), nullptr);
}

TEST(KeyFile, RequiresNoKeyWhileThereIsNone) {
    const TemporaryFolder folder;
    KeyFile file(folder.file("keys"), Need::if_there_are_any);
    EXPECT_FALSE(file.is_required());
    EXPECT_FALSE(file.refresh());
    EXPECT_TRUE(KeyFile(folder.file("keys"), Need::required).is_required());

    made(folder, "alice");
    EXPECT_TRUE(file.refresh());
    EXPECT_TRUE(file.is_required()) << "from the first key on";
}

TEST(KeyFile, StillRequiresAKeyWhenTheLastOneIsRevoked) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    KeyFile file(folder.file("keys"), Need::if_there_are_any);
    ASSERT_TRUE(revoke_key(folder.file("keys"), "alice"));
    EXPECT_TRUE(file.refresh());
    EXPECT_TRUE(file.ring().empty());
    EXPECT_TRUE(file.is_required());
}

TEST(KeyFile, HasNoKeysWhenTheFileIsGoneAndStillRequiresOne) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    KeyFile file(folder.file("keys"), Need::if_there_are_any);
    std::filesystem::remove(folder.file("keys"));
    EXPECT_TRUE(file.refresh());
    EXPECT_EQ(file.ring().find(alice), nullptr);
    EXPECT_TRUE(file.is_required());
    EXPECT_FALSE(file.refresh());
}

TEST(KeyFile, KeepsTheLastGoodKeysWhenTheFileIsDamaged) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    KeyFile file(folder.file("keys"), Need::required);
    const std::string good = folder.read("keys");
    folder.write("keys", good + "garbage\n");
    EXPECT_FALSE(file.refresh());
    EXPECT_THAT(file.problem(), HasSubstr("keys:2: must be NAME"));
    EXPECT_NE(file.ring().find(alice), nullptr);
    EXPECT_FALSE(file.refresh()) << "still";
    EXPECT_NE(file.problem(), "");

    folder.write("keys", good);
    EXPECT_TRUE(file.refresh());
    EXPECT_EQ(file.problem(), "");
}

TEST(KeyFile, KeepsTheLastGoodKeysWhenOthersCouldHaveWrittenNewOnes) {
    const TemporaryFolder folder;
    const std::string alice = made(folder, "alice");
    KeyFile file(folder.file("keys"), Need::required);
    ::chmod(folder.file("keys").c_str(), 0666);
    EXPECT_FALSE(file.refresh());
    EXPECT_THAT(file.problem(), HasSubstr("can be written by others"));
    EXPECT_NE(file.ring().find(alice), nullptr);
}

TEST(KeyFile, LetsNobodyInWhenTheFirstFileIsDamaged) {
    const TemporaryFolder folder;
    folder.write("keys", "garbage\n");
    const KeyFile file(folder.file("keys"), Need::if_there_are_any);
    EXPECT_TRUE(file.ring().empty());
    EXPECT_TRUE(file.is_required());
    EXPECT_NE(file.problem(), "");
}

}  // namespace
}  // namespace turnpike
