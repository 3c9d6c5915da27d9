// Control groups, with ordinary folders and files in their place: tests may seldom make real ones.
#include "os/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Cgroup, IsAFolderBelowOurs) {
    const TemporaryFolder home;
    const std::string group = make_cgroup(home.file("."), "turnpike-1-1");
    EXPECT_EQ(group, home.file(".") + "/turnpike-1-1");
    EXPECT_TRUE(std::filesystem::is_directory(group));
    EXPECT_EQ(make_cgroup(home.file("."), "turnpike-1-1"), "") << "it is somebody else's";
    EXPECT_EQ(make_cgroup(home.file("nowhere"), "turnpike-1-2"), "");
    remove_cgroup(group);
    EXPECT_FALSE(std::filesystem::exists(group));
}

TEST(Cgroup, IsJoinedByWritingToIt) {
    const TemporaryFolder group;
    EXPECT_FALSE(join_cgroup(group.file("."))) << "the kernel has not made its files";
    group.write("cgroup.procs", "");
    EXPECT_TRUE(join_cgroup(group.file(".")));
    EXPECT_EQ(group.read("cgroup.procs"), "0");
}

TEST(Cgroup, IsKilledByWritingToIt) {
    const TemporaryFolder group;
    EXPECT_FALSE(kill_cgroup(group.file(".")));
    group.write("cgroup.kill", "");
    EXPECT_TRUE(kill_cgroup(group.file(".")));
    EXPECT_EQ(group.read("cgroup.kill"), "1");
}

TEST(Cgroup, ListsItsProcesses) {
    const TemporaryFolder group;
    EXPECT_THAT(processes_in_cgroup(group.file(".")), IsEmpty());
    group.write("cgroup.procs", "4711\n4712\n");
    EXPECT_THAT(processes_in_cgroup(group.file(".")), ElementsAre(4711, 4712));
}

TEST(Cgroup, IsRemovedWithTheGroupsThatItsWorkerMade) {
    const TemporaryFolder home;
    const std::string group = make_cgroup(home.file("."), "turnpike-1-1");
    std::filesystem::create_directories(group + "/own/more");
    remove_cgroup(group);
    EXPECT_FALSE(std::filesystem::exists(group));
}

TEST(Cgroup, IsRemovedIfItsGateIsDeadAndOnlyThen) {
    const TemporaryFolder home;
    const std::string own = "turnpike-" + std::to_string(::getpid()) + "-1";
    // No process of this machine has a pid that large.
    for (const std::string& name : {own, std::string("turnpike-1073741824-1"),
                                    std::string("turnpike-x-1"), std::string("others")})
        std::filesystem::create_directory(home.file(name));
    remove_dead_cgroups(home.file("."));
    EXPECT_FALSE(home.has("turnpike-1073741824-1"));
    EXPECT_TRUE(home.has(own)) << "this gate runs";
    EXPECT_TRUE(home.has("turnpike-x-1")) << "no gate has such a name";
    EXPECT_TRUE(home.has("others"));
}

}  // namespace
}  // namespace turnpike
