// Requests that went over a reused connection which the worker had closed (blame.cpp, attempt.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/attempt.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::replace_worker;
using testing::ElementsAre;

TEST(Stale, IsSentOnceMoreWithoutDoubtOrBlame) {
    Gate gate({.lanes = 2, .slots = 2, .crash_limit = 1});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0", "send j0 to w1"));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    EXPECT_FALSE(gate.lane(1).is_reserved) << "it need not ride alone";
    gate.ends(job);
    EXPECT_EQ(gate.acts<EndJob>().front().attempts, 2U);
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(Stale, MayGoToTheSameLaneAndBeforeTheOthers) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.queue_job();
    gate.ends(job, Verdict::stale);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0", "send j0 to w0"));
}

TEST(Stale, IsBrokenTheSecondTime) {
    Gate gate({.lanes = 3});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    ASSERT_EQ(gate.lane_of(job), LaneId{1});
    gate.ends(job, Verdict::stale);
    EXPECT_EQ(gate.reason(1), Reason::link_doubted);
    EXPECT_TRUE(gate.lane(gate.lane_of(job).value).is_reserved) << "it rides alone now";
    gate.ends(job, Verdict::stale);
    EXPECT_EQ(gate.ended(job), EndReason::poison) << "the second time that it broke alone";
}

TEST(Stale, IsNotCountedAmongTheDeathsOfAJob) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    replace_worker(gate, 0);
    EXPECT_TRUE(gate.is_running(job)) << "one death";
    gate.dies(0);
    EXPECT_EQ(gate.ended(job), EndReason::poison);
}

TEST(Stale, IsBrokenIfTheJobMayNotBeSentAgain) {
    Gate gate({.lanes = 2, .may_retry = false});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    EXPECT_EQ(gate.ended(job), EndReason::worker_died);
    EXPECT_EQ(gate.reason(0), Reason::link_doubted);
}

TEST(Stale, IsBrokenForAnAside) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.leave_probes_to_me();
    const JobId aside = gate.queue_job({.is_aside = true});
    gate.ends(aside, Verdict::stale);
    EXPECT_EQ(gate.ended(aside), EndReason::worker_died);
    EXPECT_EQ(gate.reason(0), Reason::link_doubted);
}

TEST(Stale, IsBrokenIfTheAnswerHadBegun) {
    Gate gate({.lanes = 2});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.begins(job);
    gate.ends(job, Verdict::stale);
    EXPECT_EQ(gate.ended(job), EndReason::stream_broken);
    EXPECT_EQ(gate.reason(0), Reason::link_doubted);
}

TEST(Stale, FreesTheSlotOfAnAbandonedAttempt) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.leave_probes_to_me();
    const JobId left = gate.queue_job();
    const JobId next = gate.queue_job();
    gate.tell(ClientLeft{left});
    gate.ends(left, Verdict::stale);
    EXPECT_THAT(gate.turn(), ElementsAre("probe w0", "send j1 to w0"));
    EXPECT_TRUE(gate.is_running(next));
}

TEST(Stale, LeavesASuspectSuspected) {
    Gate gate({.lanes = 3, .crash_limit = 1});
    gate.open();
    const JobId job = gate.queue_job();
    gate.dies(0);
    gate.ends(job, Verdict::stale);
    ASSERT_TRUE(gate.is_running(job));
    EXPECT_TRUE(gate.lane(gate.lane_of(job).value).is_reserved);
    gate.ends(job);
    EXPECT_EQ(gate.state(0), LaneState::failed) << "its case is decided";
}

TEST(Stale, MayBeTheFirstSignOfADeathThatChargesNobody) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    gate.ends(job);
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::backoff) << "the request may have killed it";
}

TEST(Stale, IsNoExcuseOnceTheWorkerHasAnsweredAProbe) {
    Gate gate({.lanes = 2, .crash_limit = 1});
    gate.open();
    gate.leave_probes_to_me();
    const JobId job = gate.queue_job();
    gate.ends(job, Verdict::stale);
    gate.ends(job);
    gate.answers_probe(gate.current(0));
    gate.dies(0);
    EXPECT_EQ(gate.state(0), LaneState::failed) << "it died idle";
}

}  // namespace
}  // namespace turnpike
