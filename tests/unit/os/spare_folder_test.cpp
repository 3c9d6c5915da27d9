#include "os/spare_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;

TEST(SpareFolder, IsPrivateAndGoesWithItsOwner) {
    const TemporaryFolder parent;
    std::string path;
    {
        auto spare = SpareFolder::make(parent.file(""));
        ASSERT_TRUE(spare);
        path = spare->path();
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
        std::ofstream(path + "/file") << "text";
        const pid_t child = ::fork();
        if (child == 0) {
            {
                const SpareFolder goes = *std::move(spare);
            }
            ::_exit(0);
        }
        ::waitpid(child, nullptr, 0);
        EXPECT_TRUE(fs::exists(path + "/file"));
        remove_abandoned_spares(parent.file(""));
        EXPECT_TRUE(fs::exists(path + "/file")) << "its owner lives";
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(SpareFolder, OfAProcessThatWasKilledIsRemovedByTheNextOne) {
    const TemporaryFolder parent;
    const pid_t child = ::fork();
    if (child == 0) {
        const auto spare = SpareFolder::make(parent.file(""));
        std::ofstream(spare->path() + "/file") << "text";
        ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(std::distance(fs::directory_iterator(parent.file("")), {}), 1);
    remove_abandoned_spares(parent.file(""));
    EXPECT_TRUE(fs::is_empty(parent.file("")));
}

TEST(SpareFolder, IsTheOnlyThingThatIsRemoved) {
    const TemporaryFolder parent;
    const std::string prefix = parent.file("turnpike-" + std::to_string(::geteuid()));
    const auto make = [](const std::string& folder) {
        fs::create_directories(folder);
        std::ofstream(folder + "/lock");
    };
    make(prefix);                   // a runtime folder
    make(prefix + "-longer-name");  // somebody's own
    make(parent.file("turnpike-" + std::to_string(::geteuid() + 1) + "-abcdef"));  // another user's
    fs::create_directories(prefix + "-nolock");                                    // being made
    make(parent.file("elsewhere"));
    fs::create_directory_symlink(parent.file("elsewhere"), prefix + "-linked");
    remove_abandoned_spares(parent.file(""));
    EXPECT_EQ(std::distance(fs::directory_iterator(parent.file("")), {}), 6);
    EXPECT_TRUE(fs::exists(parent.file("elsewhere/lock")));
    remove_abandoned_spares(parent.file("nowhere"));
}

TEST(SpareFolder, CannotBeMadeWhereNothingCanBeMade) {
    const TemporaryFolder parent;
    EXPECT_EQ(SpareFolder::make(parent.file("nowhere")).error(), ENOENT);
}

}  // namespace
}  // namespace turnpike
