#include "os/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Duration patience = std::chrono::seconds(30);  // only a hang reaches it

class Leftovers : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "tpXXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        base_ = pattern;
        place_ = {pattern + "/root"};
        take("dead");
    }
    void TearDown() override { fs::remove_all(base_); }

    /// A gate of that name runs as long as the returned object exists.
    RuntimeFolder take(std::string_view name) const {
        auto folder = RuntimeFolder::take(place_, name);
        if (!folder) throw std::runtime_error(folder.error());
        return std::move(*folder);
    }
    [[nodiscard]] std::string folder(const std::string& name) const {
        return place_.root + '/' + name;
    }
    [[nodiscard]] std::vector<std::string> marked(const std::string& name,
                                                  const std::string& id = "0-0-abc") const {
        return {"TURNPIKE_RUN=" + mark_of({.folder = folder(name), .id = id})};
    }
    void write_list(const std::string& text) const {
        std::ofstream(folder("dead") + "/processes") << text;
    }
    [[nodiscard]] std::vector<pid_t> found(const OwnRun& own = {}) const {
        std::vector<pid_t> pids;
        for (const Leftover& leftover : find_leftovers(place_, own))
            pids.push_back(leftover.id.pid);
        return pids;
    }

    fs::path base_;
    RuntimePlace place_;
};

std::string entry(const ProcessId& id) {
    return "process " + std::to_string(id.pid) + ' ' + std::to_string(id.start) + '\n';
}

TEST_F(Leftovers, AreThoseWithTheMarkOfAFolderThatNobodyHolds) {
    const SleepingProcess left(marked("dead"));
    const SleepingProcess left_by_one_whose_folder_is_gone(marked("gone"));
    const SleepingProcess without;
    EXPECT_THAT(found(), UnorderedElementsAre(left.pid(), left_by_one_whose_folder_is_gone.pid()));
}

TEST_F(Leftovers, AreNotThoseOfALivingGate) {
    const SleepingProcess others(marked("living"));
    const RuntimeFolder living = take("living");
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, AreNotThoseOfAGateThatLivesWithoutItsFolder) {
    const SleepingProcess others(marked("gone", fresh_run_id(7)));  // this process is the gate
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, InOurOwnFolderAreThoseOfEarlierRuns) {
    const RuntimeFolder own = take("dead");
    const OwnRun run{.folder = own.path(), .id = fresh_run_id(7)};
    const SleepingProcess earlier(marked("dead"));
    const SleepingProcess ours(marked("dead", run.id));
    EXPECT_THAT(found(run), UnorderedElementsAre(earlier.pid()));
}

TEST_F(Leftovers, AreNotThoseWithMarksOfElsewhere) {
    const SleepingProcess elsewhere({"TURNPIKE_RUN=/elsewhere/dead:0-0-abc"});
    const SleepingProcess above({"TURNPIKE_RUN=" + place_.root + "/../dead:0-0-abc"});
    const SleepingProcess deeper({"TURNPIKE_RUN=" + place_.root + "/dead/er:0-0-abc"});
    const SleepingProcess without_id({"TURNPIKE_RUN=" + place_.root + "/dead"});
    const SleepingProcess empty({"TURNPIKE_RUN="});
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, AreThoseOfTheListByPidAndStart) {
    const SleepingProcess listed;
    const SleepingProcess other;
    write_list(entry(listed.id()) + entry({.pid = other.pid(), .start = other.id().start + 1}));
    EXPECT_THAT(found(), UnorderedElementsAre(listed.pid()));
}

TEST_F(Leftovers, AreListedOnceHoweverTheyWereFound) {
    const SleepingProcess both(marked("dead"));
    write_list(entry(both.id()));
    EXPECT_THAT(found(), UnorderedElementsAre(both.pid()));
}

TEST_F(Leftovers, AreNotThoseOfAListWhoseGateLives) {
    const SleepingProcess listed;
    write_known(folder("dead"), {.processes = {listed.id()}, .groups = {}});
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, AreNotThoseOfAListOfAnotherBoot) {
    const SleepingProcess listed;
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    write_list("boot 0123-4567\n" + entry(listed.id()));
    EXPECT_THAT(found(), IsEmpty());
    write_list("boot " + boot + '\n' + entry(listed.id()));
    EXPECT_THAT(found(), UnorderedElementsAre(listed.pid()));
}

TEST_F(Leftovers, OfAListThatIsBrokenAreThoseThatCanBeRead) {
    const SleepingProcess listed;
    write_list("nonsense\nprocess\nprocess x y\n");
    EXPECT_THAT(found(), IsEmpty());
    write_list(entry(listed.id()) + "process 1");
    EXPECT_THAT(found(), UnorderedElementsAre(listed.pid()));
}

TEST_F(Leftovers, AreEndedAndNoOtherProcesses) {
    const SleepingProcess left(marked("dead"));
    const SleepingProcess listed;
    const SleepingProcess innocent;
    write_list(entry(listed.id()));
    EXPECT_THAT(end_leftovers(place_, {}, patience), IsEmpty());
    EXPECT_TRUE(left.is_killed());
    EXPECT_TRUE(listed.is_killed());
    EXPECT_FALSE(innocent.is_killed());
}

TEST_F(Leftovers, AreKilledEvenIfTheFirstSearchTakesAllTheTime) {
    const SleepingProcess left(marked("dead"));
    const UniqueFd held = hold_process(left.id());
    std::ignore = end_leftovers(place_, {}, Duration::zero());
    pollfd watched{.fd = held.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&watched, 1, 30'000), 1);
    EXPECT_TRUE(left.is_killed());
}

TEST_F(Leftovers, TakeNoTimeIfThereAreNone) {
    EXPECT_THAT(end_leftovers({base_ / "nowhere"}, {}, patience), IsEmpty());
}

}  // namespace
}  // namespace turnpike
