// The starts that a warm process makes: it is real, and its workers and their guards are the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "supervisor/process/worker_process.h"
#include "tests/unit/supervisor/process/warm_stand.h"
#include "tests/unit/supervisor/process/worker_process_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr Duration warm_patience = 5s;

class WarmStart : public WarmStand {
protected:
    /// Makes a process whose pool has the warm process that the test has set up.
    void make() {
        stand_.warm = warm_;
        stand_.process = std::make_unique<WorkerProcess>(stand_.deps, stand_.process_deps,
                                                         stand_.order, stand_.lane(), stand_);
    }
    void start() {
        make();
        stand_.process->begin();
        stand_.process->start({.command = "python3 worker.py",
                               .link = WorkerGuard::Link::socket,
                               .model = "/m.py:Net"});
    }
    /// Starts a worker whose pool has a warm process that is ready.
    void start_warm() {
        script(says_ready);
        ready();
        start();
    }
    [[nodiscard]] FakeGuard& guard(std::size_t number) { return *stand_.guards.made.at(number); }
    [[nodiscard]] std::size_t guards() const { return stand_.guards.made.size(); }
    /// Returns what the lane's log says about a cold start. Empty if it says nothing.
    [[nodiscard]] std::string why_cold() const {
        for (const std::string& line : stand_.logged())
            if (line.starts_with("a cold start: ")) return line;
        return "";
    }

    WorkerProcessStand stand_;
};

// ── a start that succeeds ────────────────────────────────────────────────────────────────────────

TEST_F(WarmStart, IsForkedByAWarmProcessThatIsReady) {
    start_warm();
    ASSERT_EQ(guards(), 1U);
    EXPECT_THAT(stand_.told, IsEmpty()) << "nobody has heard of the worker yet";
    EXPECT_TRUE(stand_.facts().start.is_warm);
    stand_.time.advance(30ms);
    guard(0).runs();
    EXPECT_THAT(stand_.told, ElementsAre("WorkerStarted", "user: started"));
    EXPECT_EQ(stand_.facts().pid, guard(0).worker_pid());
    EXPECT_EQ(stand_.facts().start.spawn, Duration{30ms});
    EXPECT_THAT(stand_.logged(), Contains(HasSubstr("started warm, pid ")));
    EXPECT_TRUE(stand_.process->take_link()) << "frames come over its socket";
    guard(0).prints("loading\n");
    stand_.loop.poll();
    EXPECT_THAT(stand_.logged(), Contains("loading"));

    stand_.end_by(exit_code(0));
    EXPECT_EQ(stand_.count("WorkerGone"), 1);
    EXPECT_EQ(why_cold(), "");
}

TEST_F(WarmStart, IsNotWaitedForAnyMoreOnceItRuns) {
    start_warm();
    guard(0).runs();
    stand_.pass(2 * warm_patience);
    EXPECT_EQ(guards(), 1U);
    EXPECT_TRUE(warm().is_ready());
}

TEST_F(WarmStart, IsNotWaitedForAnyMoreOnceItHasExited) {
    start_warm();
    guard(0).exits({.how = "its folder can't be entered: no such folder"});
    stand_.pass(2 * warm_patience);
    EXPECT_EQ(guards(), 1U) << "a cold start would fail in the same way";
    EXPECT_THAT(stand_.told, ElementsAre("user: exited", "WorkerExited"));
    EXPECT_TRUE(warm().is_ready());
}

// ── a start that becomes cold ────────────────────────────────────────────────────────────────────

TEST_F(WarmStart, BecomesColdIfTheWarmProcessMakesNoWorker) {
    start_warm();
    guard(0).never_starts();
    ASSERT_EQ(guards(), 2U);
    EXPECT_EQ(why_cold(), "a cold start: the warm process did not fork");
    EXPECT_FALSE(stand_.facts().start.is_warm);
    EXPECT_EQ(stand_.output.pipes(), 2U) << "only those of the second start";
    EXPECT_THAT(stand_.told, IsEmpty());
    guard(1).runs();
    EXPECT_THAT(stand_.told, ElementsAre("WorkerStarted", "user: started"));
    guard(1).prints("loading\n");
    stand_.loop.poll();
    EXPECT_THAT(stand_.logged(), Contains("loading"));
    stand_.pass(2 * warm_patience);
    EXPECT_EQ(guards(), 2U);
    EXPECT_TRUE(warm().is_ready()) << "the time of the first start is no news any more";
}

TEST_F(WarmStart, BecomesColdIfNothingIsHeardForTooLong) {
    start_warm();
    stand_.pass(warm_patience - 1ms);
    EXPECT_EQ(guards(), 1U);
    stand_.pass(1ms);
    ASSERT_EQ(guards(), 2U);
    EXPECT_THAT(guard(0).asked, ElementsAre("abandon"));
    EXPECT_EQ(why_cold(), "a cold start: the warm process did not fork in time");
    EXPECT_FALSE(warm().is_ready()) << "another one is built";
    guard(1).runs();
    EXPECT_THAT(stand_.told, ElementsAre("WorkerStarted", "user: started"));
    EXPECT_THAT(stand_.logged(), Not(Contains(HasSubstr("started warm"))));
}

TEST_F(WarmStart, SaysWhyTheWarmProcessRefused) {
    script(R"(
say('{"ready": 1}'); wait()
say('{"refused": "numpy has changed"}'); wait())");
    ready();
    start();
    ASSERT_TRUE(run_until_trouble("numpy has changed"));
    guard(0).never_starts();
    EXPECT_EQ(why_cold(), "a cold start: numpy has changed");
    EXPECT_EQ(guards(), 2U);
}

TEST_F(WarmStart, BecomesColdIfNoDescriptorsAreLeft) {
    script(says_ready);
    ready();
    stand_.guards.refusal.told = "no pipe could be made: Too many open files";
    start();
    ASSERT_EQ(guards(), 2U);
    EXPECT_EQ(why_cold(), "a cold start: no pipe could be made: Too many open files");
    guard(1).runs();
    EXPECT_EQ(stand_.count("WorkerStarted"), 1);
}

TEST_F(WarmStart, BecomesColdIfTheWarmProcessCannotBeAsked) {
    script(says_ready);
    ready();
    stand_.process_deps.environment = {"HUGE=" + std::string(16 << 20, 'x')};
    start();
    ASSERT_EQ(guards(), 2U);
    EXPECT_EQ(why_cold(), "a cold start: the environment is too large for a warm start");
    EXPECT_FALSE(stand_.facts().start.is_warm);
    stand_.pass(2 * warm_patience);
    EXPECT_EQ(guards(), 2U) << "nothing was asked, so nothing is late";
}

TEST_F(WarmStart, IsColdFromTheBeginningIfNoWarmProcessIsReady) {
    warm();
    start();
    EXPECT_EQ(guards(), 1U);
    EXPECT_FALSE(stand_.facts().start.is_warm);
    EXPECT_EQ(why_cold(), "") << "nothing went wrong: the first worker has to come up first";
}

TEST_F(WarmStart, SaysWhyNoWarmProcessIsReady) {
    script("sys.exit(3)");
    imported("json");
    warm().learn();
    ASSERT_TRUE(run_until_trouble("it died: exit code 3"));
    start();
    EXPECT_EQ(why_cold(), "a cold start: the warm process died: exit code 3");
}

TEST_F(WarmStart, KeepsItsControlGroupIfItBecomesCold) {
    stand_.process_deps.cgroup_home = stand_.folder.file(".");
    start_warm();
    const std::string group = stand_.process->group();
    EXPECT_NE(group, "");
    guard(0).never_starts();
    EXPECT_EQ(guard(1).orders.cgroup, group);
}

// ── orders at bad moments ────────────────────────────────────────────────────────────────────────

TEST_F(WarmStart, EndsWithoutAColdStartIfItWasToldToEndMeanwhile) {
    for (const bool is_late : {false, true}) {
        start_warm();
        stand_.process->kill(Reason::drain_asked);
        EXPECT_THAT(stand_.guard().asked, ElementsAre("kill"));
        const std::size_t before = guards();
        is_late ? stand_.pass(warm_patience) : stand_.guard().never_starts();
        EXPECT_EQ(guards(), before);
        EXPECT_THAT(stand_.told,
                    ElementsAre("user: exited", "WorkerExited", "user: gone", "WorkerGone"));
        EXPECT_EQ(stand_.facts().last_exit,
                  "it could not be started: it was told to end before it had started");
        EXPECT_THAT(stand_.crashes, IsEmpty()) << "somebody asked for it";
        stand_.told.clear();
    }
}

TEST_F(WarmStart, IsNotHeardOfIfItIsDestroyedMeanwhile) {
    start_warm();
    stand_.process.reset();
    EXPECT_THAT(guard(0).asked, ElementsAre("abandon"));
    stand_.pass(2 * warm_patience);
    EXPECT_EQ(guards(), 1U);
    EXPECT_TRUE(warm().is_ready());
}

}  // namespace
}  // namespace turnpike
