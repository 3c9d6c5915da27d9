#include "os/guarded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <csignal>
#include <optional>

#include "tests/unit/loop.h"
#include "tests/unit/os/sleeping_process.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// The test plays the guard, at the other end of the control socket.
class GuardedOfATest : public testing::Test {
protected:
    ~GuardedOfATest() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

    void say(const UniqueFd& control, const GuardReport& report) {
        ASSERT_EQ(::send(control.get(), &report, sizeof report, 0), sizeof report);
    }

    TestLoop loop_;
    Children children_{loop_.context()};
    bool has_started_ = false;
    std::vector<std::string> stuck_;
    std::optional<std::vector<pid_t>> gone_;
    std::shared_ptr<Guarded> guarded_ = std::make_shared<Guarded>(
        loop_.context(), children_,
        GuardedUser{.started = [this](const ProcessId&) { has_started_ = true; },
                    .exited = [](const WorkerEnd&) {},
                    .stuck = [this](const std::string& who) { stuck_.push_back(who); },
                    .gone = [this](std::vector<pid_t> pids) { gone_ = std::move(pids); }});
};

// Otherwise children that nobody watches yet would be ended, such as the future guard of another
// lane's warm start.
TEST_F(GuardedOfATest, GetsTheLastReportOfAGuardThatEndedBeforeItReadARequest) {
    const SleepingProcess guard;
    auto offered = guarded_->offer();
    ASSERT_TRUE(offered);
    UniqueFd control = std::move(offered->theirs.control);
    say(control, {.kind = GuardReport::Kind::started, .pid = 4711, .guard = guard.pid()});
    ASSERT_TRUE(loop_.run_until([&] { return has_started_; }));
    const SleepingProcess bystander;

    guarded_->terminate();
    GuardReport last{.kind = GuardReport::Kind::gone, .pid_count = 1};
    last.pids[0] = 4711;
    say(control, last);
    control.reset();
    ::kill(guard.pid(), SIGKILL);

    ASSERT_TRUE(loop_.run_until([&] { return gone_.has_value(); }));
    EXPECT_THAT(*gone_, ElementsAre(4711));
    EXPECT_THAT(own_children(), Contains(bystander.pid()));
    EXPECT_THAT(stuck_, IsEmpty());
}

TEST_F(GuardedOfATest, DoesNotTrustTheLengthsInAReport) {
    const SleepingProcess guard;
    auto offered = guarded_->offer();
    ASSERT_TRUE(offered);
    UniqueFd control = std::move(offered->theirs.control);
    say(control, {.kind = GuardReport::Kind::started, .pid = 4711, .guard = guard.pid()});
    GuardReport stuck{.kind = GuardReport::Kind::stuck, .pid = 7};
    stuck.name.fill('x');
    say(control, stuck);
    say(control, {.kind = GuardReport::Kind::gone, .pid_count = 0xFFFF'FFFF});
    control.reset();
    ::kill(guard.pid(), SIGKILL);

    ASSERT_TRUE(loop_.run_until([&] { return gone_.has_value(); }));
    EXPECT_EQ(gone_->size(), GuardReport::pids_max);
    EXPECT_THAT(stuck_, ElementsAre(std::string(16, 'x') + " (pid 7)"));
}

}  // namespace
}  // namespace turnpike
