#include "os/runtime_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class RuntimeFolders : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "tpXXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        base_ = pattern;
        place_ = {pattern + "/root"};
    }
    void TearDown() override { fs::remove_all(base_); }

    RuntimeFolder taken(std::string_view name) const {
        auto folder = RuntimeFolder::take(place_, name);
        if (!folder) throw std::runtime_error(folder.error());
        return std::move(*folder);
    }
    std::string refusal(std::string_view name) const {
        const auto folder = RuntimeFolder::take(place_, name);
        return folder ? "taken" : folder.error();
    }
    [[nodiscard]] fs::path in_root(const std::string& path) const {
        return place_.root + '/' + path;
    }

    fs::path base_;
    RuntimePlace place_;
};

std::string text_in(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

fs::perms mode_of(const fs::path& path) { return fs::status(path).permissions(); }

/// Makes a folder with the wrong permissions.
void make_folder(const fs::path& path, mode_t mode = 0700) {
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

// ── where ────────────────────────────────────────────────────────────────────────────────────────

TEST(RuntimeRoot, IsTheUsersRuntimeFolderOrAPrivateOneInTheTemporaryFolder) {
    EXPECT_EQ(runtime_root("/run/user/7", "/var/tmp", 7).root, "/run/user/7/turnpike");
    EXPECT_EQ(runtime_root(std::nullopt, "/var/tmp", 7).root, "/var/tmp/turnpike-7");
    EXPECT_EQ(runtime_root(std::nullopt, "", 7).root, "/tmp/turnpike-7");
}

TEST(RuntimeRoot, IgnoresRelativePaths) {
    EXPECT_EQ(runtime_root("", "/t", 7).root, "/t/turnpike-7");
    EXPECT_EQ(runtime_root("run", "t", 7).root, "/tmp/turnpike-7");
}

// ── taking ───────────────────────────────────────────────────────────────────────────────────────

TEST_F(RuntimeFolders, ArePrivateAndSayWhoHoldsThem) {
    const ::mode_t before = ::umask(0);
    const RuntimeFolder folder = taken("main");
    ::umask(before);
    EXPECT_EQ(folder.path_of("socket"), place_.root + "/main/socket");
    EXPECT_EQ(mode_of(place_.root), fs::perms::owner_all);
    EXPECT_EQ(mode_of(in_root("main")), fs::perms::owner_all);
    EXPECT_EQ(mode_of(in_root("main/lock")), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(text_in(in_root("main/lock")), std::to_string(::getpid()) + "\n");
}

TEST_F(RuntimeFolders, HaveOneHolder) {
    const RuntimeFolder folder = taken("main");
    write(folder.path_of("socket"), "");
    EXPECT_THAT(refusal("main"), AllOf(HasSubstr("a gate named main is running already (pid " +
                                                 std::to_string(::getpid()) + ")"),
                                       HasSubstr("turnpike down --name main")));
    EXPECT_TRUE(fs::exists(folder.path_of("socket")));
    EXPECT_EQ(text_in(in_root("main/lock")), std::to_string(::getpid()) + "\n");
    EXPECT_EQ(refusal("other"), "taken");
}

TEST_F(RuntimeFolders, AreFreeAgainWhenTheirHolderIsDone) {
    {
        const RuntimeFolder folder = taken("main");
        write(folder.path_of("socket"), "");
    }
    EXPECT_FALSE(fs::exists(in_root("main/socket")));
    EXPECT_EQ(text_in(in_root("main/lock")), "");
    EXPECT_EQ(refusal("main"), "taken");
}

TEST_F(RuntimeFolders, AreCleanedOfWhatAKilledGateLeft) {
    make_folder(place_.root);
    make_folder(in_root("main"));
    write(in_root("main/lock"), "123456789012345\n");
    write(in_root("main/socket"), "");
    const RuntimeFolder folder = taken("main");
    EXPECT_FALSE(fs::exists(folder.path_of("socket")));
    EXPECT_EQ(text_in(in_root("main/lock")), std::to_string(::getpid()) + "\n");
}

TEST_F(RuntimeFolders, StayTakenWhenTheyMove) {
    RuntimeFolder first = taken("main");
    {
        const RuntimeFolder second = std::move(first);
        write(second.path_of("socket"), "");
        EXPECT_THAT(refusal("main"), HasSubstr("running already"));
    }
    EXPECT_EQ(refusal("main"), "taken");
}

TEST_F(RuntimeFolders, AreNotGivenUpByAForkedChild) {
    RuntimeFolder folder = taken("main");
    write(folder.path_of("socket"), "");
    const pid_t child = ::fork();
    if (child == 0) {
        {
            const RuntimeFolder ends_here = std::move(folder);
        }
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_TRUE(fs::exists(folder.path_of("socket")));
    EXPECT_THAT(refusal("main"), HasSubstr("running already"));
}

TEST_F(RuntimeFolders, AreFreedByTheirHolderEvenIfAChildLivesOn) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    pid_t child = -1;
    {
        const RuntimeFolder folder = taken("main");
        child = ::fork();
        if (child == 0) {
            ::close(ends[1]);
            char byte = 0;
            ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // waits until the test is done
        }
    }
    EXPECT_EQ(refusal("main"), "taken");
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(RuntimeFolders, HaveNamesThatStayInTheRoot) {
    for (const char* name : {"", "..", "../x", "a/b", ".hidden", "UP"})
        EXPECT_THAT(refusal(name), HasSubstr("the name of a gate is 1 to 64")) << name;
    EXPECT_FALSE(fs::exists(place_.root));
}

TEST_F(RuntimeFolders, HaveRoomForTheirSocketsPath) {
    const std::size_t fixed = place_.root.size() + std::string_view("//socket").size();
    place_.root.append(100 - fixed, 'r');  // leaves seven letters for the name
    EXPECT_EQ(refusal("seven77"), "taken");
    EXPECT_THAT(refusal("eight888"), AllOf(HasSubstr("is 108 bytes long"), HasSubstr("--name")));
    EXPECT_FALSE(fs::exists(in_root("eight888")));
}

// ── what others may have laid there ──────────────────────────────────────────────────────────────

TEST_F(RuntimeFolders, AreNotReachedThroughLinks) {
    make_folder(base_ / "elsewhere");
    fs::create_symlink(base_ / "elsewhere", place_.root);
    EXPECT_THAT(refusal("main"), HasSubstr("is a symbolic link or a file"));
    fs::remove(place_.root);
    make_folder(place_.root);
    fs::create_symlink(base_ / "elsewhere", in_root("main"));
    EXPECT_THAT(refusal("main"), HasSubstr("is a symbolic link or a file"));
    EXPECT_TRUE(fs::is_empty(base_ / "elsewhere"));
}

TEST_F(RuntimeFolders, DoNotWriteThroughALinkedLock) {
    make_folder(place_.root);
    make_folder(in_root("main"));
    write(base_ / "precious", "data");
    fs::create_symlink(base_ / "precious", in_root("main/lock"));
    EXPECT_THAT(refusal("main"), HasSubstr("main/lock can't be opened"));
    EXPECT_EQ(text_in(base_ / "precious"), "data");
}

TEST_F(RuntimeFolders, NeedAPlainFileAsLock) {
    make_folder(place_.root);
    make_folder(in_root("main"));
    ASSERT_EQ(::mkfifo(in_root("main/lock").c_str(), 0600), 0);
    EXPECT_THAT(refusal("main"), HasSubstr("main/lock is not a regular file"));
    EXPECT_THAT(list_running(place_), IsEmpty());
}

TEST_F(RuntimeFolders, AreRefusedWhenOthersCanLookIn) {
    make_folder(place_.root, 0750);
    EXPECT_THAT(refusal("main"), HasSubstr("run chmod 700 " + place_.root));
    ASSERT_EQ(::chmod(place_.root.c_str(), 0700), 0);
    make_folder(in_root("main"), 0701);
    EXPECT_THAT(refusal("main"), HasSubstr("run chmod 700 " + place_.root + "/main"));
}

TEST_F(RuntimeFolders, AreRefusedWhenTheyBelongToAnother) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    make_folder(place_.root);
    ASSERT_EQ(::chown(place_.root.c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal("main"), AllOf(HasSubstr("belongs to user 12345"), HasSubstr("TMPDIR")));
    EXPECT_THAT(list_running(place_), IsEmpty());
}

TEST_F(RuntimeFolders, SayWhatIsInTheWay) {
    write(place_.root, "");
    EXPECT_THAT(refusal("main"), HasSubstr("is a symbolic link or a file"));
    place_.root = (base_ / "no" / "such").string();
    EXPECT_THAT(refusal("main"), HasSubstr("can't be made: No such file or directory"));
}

// ── listing ──────────────────────────────────────────────────────────────────────────────────────

std::vector<std::string> names_of(const std::vector<RunningGate>& gates) {
    std::vector<std::string> names;
    for (const RunningGate& gate : gates) names.push_back(gate.name);
    return names;
}

TEST_F(RuntimeFolders, AreListedWhileTheyAreHeld) {
    EXPECT_THAT(list_running(place_), IsEmpty());
    const RuntimeFolder b = taken("b");
    {
        const RuntimeFolder a = taken("a");
        const auto running = list_running(place_);
        EXPECT_EQ(names_of(running), (std::vector<std::string>{"a", "b"}));
        EXPECT_EQ(running[0].pid, ::getpid());
        EXPECT_EQ(running[0].folder, place_.root + "/a");
    }
    EXPECT_EQ(names_of(list_running(place_)), std::vector<std::string>{"b"});
}

TEST_F(RuntimeFolders, OfTheDeadAreNotListed) {
    const RuntimeFolder lives = taken("lives");
    make_folder(in_root("killed"));
    write(in_root("killed/lock"), std::to_string(::getpid()) + "\n");
    make_folder(in_root("empty"));
    write(in_root("file"), "");
    fs::create_symlink(in_root("lives"), in_root("link"));
    EXPECT_EQ(names_of(list_running(place_)), std::vector<std::string>{"lives"});
    EXPECT_EQ(refusal("killed"), "taken") << "listing must leave no lock behind";
}

TEST_F(RuntimeFolders, WhoseHolderHasNotWrittenItsPidAreNotListedYet) {
    make_folder(place_.root);
    make_folder(in_root("main"));
    const UniqueFd lock(::open(in_root("main/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_THAT(list_running(place_), IsEmpty());
    EXPECT_THAT(refusal("main"), HasSubstr("running already"));
}

// ── when the folder is lost ──────────────────────────────────────────────────────────────────────

using Renewal = RuntimeFolder::Renewal;

TEST_F(RuntimeFolders, AreFoundByTheirNamesEvenIfTheyAreGone) {
    const RuntimeFolder folder = taken("main");
    fs::remove_all(place_.root);
    const auto running = list_running(place_);
    ASSERT_EQ(names_of(running), std::vector<std::string>{"main"});
    EXPECT_EQ(running[0].pid, ::getpid());
    EXPECT_TRUE(running[0].socket.starts_with('@')) << running[0].socket;
    EXPECT_THAT(refusal("main"), HasSubstr("a gate named main is running already (pid " +
                                           std::to_string(::getpid()) + ")"));
    EXPECT_THAT(list_running({place_.root + "-other"}), IsEmpty());
}

TEST_F(RuntimeFolders, AreMadeAnewWhateverIsGone) {
    RuntimeFolder folder = taken("main");
    EXPECT_EQ(folder.renew(), Renewal::not_needed);
    for (const fs::path& lost :
         {in_root("main/lock"), in_root("main"), fs::path(place_.root), base_}) {
        fs::remove_all(lost);
        EXPECT_EQ(folder.renew(), Renewal::made_anew) << lost;
        EXPECT_EQ(folder.renew(), Renewal::not_needed) << lost;
        EXPECT_EQ(text_in(in_root("main/lock")), std::to_string(::getpid()) + "\n");
        EXPECT_THAT(refusal("main"), HasSubstr("running already"));
    }
}

TEST_F(RuntimeFolders, ArePrivateAndWritableAgain) {
    RuntimeFolder folder = taken("main");
    for (const mode_t mode : {0500, 0777, 0000}) {
        ASSERT_EQ(::chmod(in_root("main").c_str(), mode), 0);
        EXPECT_EQ(folder.renew(), Renewal::not_needed);
        EXPECT_EQ(mode_of(in_root("main")), fs::perms::owner_all);
    }
}

TEST_F(RuntimeFolders, AreNotTakenFromAnotherGate) {
    RuntimeFolder folder = taken("main");
    fs::remove_all(in_root("main"));
    make_folder(in_root("main"));
    const UniqueFd lock(::open(in_root("main/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const auto renewed = folder.renew();
    ASSERT_FALSE(renewed);
    EXPECT_THAT(renewed.error(), HasSubstr("a gate named main is running already"));
}

TEST_F(RuntimeFolders, SayWhatStandsInTheirPlace) {
    RuntimeFolder folder = taken("main");
    fs::remove_all(in_root("main"));
    write(in_root("main"), "");
    EXPECT_THAT(folder.renew().error(), HasSubstr("is a symbolic link or a file"));
    fs::remove(in_root("main"));
    fs::create_symlink(base_, in_root("main"));
    EXPECT_THAT(folder.renew().error(), HasSubstr("is a symbolic link or a file"));
    fs::remove(in_root("main"));
    EXPECT_EQ(folder.renew(), Renewal::made_anew);
    fs::remove(in_root("main/lock"));
    make_folder(in_root("main/lock"));
    EXPECT_THAT(folder.renew().error(), HasSubstr("remove it"));
}

}  // namespace
}  // namespace turnpike
