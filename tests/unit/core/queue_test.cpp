#include "core/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "core/timers.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using testing::ElementsAre;

constexpr Duration age_step = 10s;

/// A queue and its jobs. Jobs are numbered in the order in which they were queued: 1, 2, …
class QueueOfJobs : public testing::Test {
protected:
    Job& queue(Duration since, std::uint8_t priority = 5) { return push(since, priority, false); }
    Job& queue_again(Duration since, std::uint8_t priority = 5) {
        return push(since, priority, true);
    }

    std::vector<std::uint64_t> take_all() {
        std::vector<std::uint64_t> orders;
        while (Job* job = queue_.first(age_step)) {
            orders.push_back(job->order);
            queue_.remove(*job);
        }
        return orders;
    }

    Queue queue_;

private:
    Job& push(Duration since, std::uint8_t priority, bool retried) {
        Job& job = jobs_.emplace_back();
        job.since = Instant{} + 1000s + since;
        job.priority = {priority};
        job.is_retry = retried;
        job.order = jobs_.size();
        queue_.push(job);
        return job;
    }

    std::deque<Job> jobs_;
};

TEST_F(QueueOfJobs, HasNoFirstJobWhenItIsEmpty) {
    EXPECT_EQ(queue_.first(age_step), nullptr);
    EXPECT_EQ(queue_.oldest(), nullptr);
    EXPECT_TRUE(queue_.empty());
}

TEST_F(QueueOfJobs, IsFirstInFirstOutWithinAPriority) {
    queue(0s), queue(0s), queue(1s);
    EXPECT_EQ(queue_.size(), 3U);
    EXPECT_THAT(take_all(), ElementsAre(1, 2, 3));
}

TEST_F(QueueOfJobs, LetsHigherPrioritiesGoFirst) {
    queue(0s, 4), queue(0s, 5), queue(1s, 9), queue(1s, 0);
    EXPECT_THAT(take_all(), ElementsAre(3, 2, 1, 4));
}

TEST_F(QueueOfJobs, LetsAJobThatHasWaitedAnAgeStepLongerBeatOneLevel) {
    queue(0s, 4);
    queue(age_step + 1ns, 5);
    EXPECT_THAT(take_all(), ElementsAre(1, 2));
}

TEST_F(QueueOfJobs, PrefersTheHigherPriorityWhenRanksAreEqual) {
    queue(0s, 4);
    queue(age_step, 5);
    EXPECT_THAT(take_all(), ElementsAre(2, 1));
}

TEST_F(QueueOfJobs, LetsTheLowestBeatTheHighestAfterNineAgeSteps) {
    queue(0s, 0);
    queue(9 * age_step, 9);
    queue(9 * age_step + 1ns, 9);
    EXPECT_THAT(take_all(), ElementsAre(2, 1, 3));
}

TEST_F(QueueOfJobs, LetsRetriesGoFirstInTheOrderOfTheirReturn) {
    queue(0s, 9);
    queue_again(5s, 0);
    queue_again(6s, 9);
    EXPECT_THAT(take_all(), ElementsAre(2, 3, 1));
}

TEST_F(QueueOfJobs, LetsAJobLeaveFromTheMiddle) {
    queue(0s);
    Job& leaving = queue(1s);
    Job& retry = queue_again(2s);
    queue(3s);
    queue_.remove(leaving);
    queue_.remove(retry);
    EXPECT_EQ(queue_.size(), 2U);
    EXPECT_EQ(leaving.queue, nullptr);
    EXPECT_THAT(take_all(), ElementsAre(1, 4));
}

TEST_F(QueueOfJobs, KnowsTheJobThatHasWaitedLongest) {
    queue(3s, 9);
    Job& oldest = queue(1s, 0);
    queue(2s, 5);
    EXPECT_EQ(queue_.oldest(), &oldest);
    const Job& retry = queue_again(0s);
    EXPECT_EQ(queue_.oldest(), &retry);
}

using QueueOfJobsDeathTest = QueueOfJobs;

TEST_F(QueueOfJobsDeathTest, OnlyLetsItsOwnJobsLeave) {
    Queue other;
    Job& job = queue(0s);
    EXPECT_DEATH(other.remove(job), "CHECK failed: job.queue == this");
}

// ── the same through the engine ──────────────────────────────────────────────────────────────────

TEST(Queue, SendsTheHighestPriorityFirst) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId busy = gate.queue_job();
    gate.queue_job({.priority = 0}), gate.queue_job({.priority = 5}),
        gate.queue_job({.priority = 9});
    gate.ends(busy);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j0 answered", "send j3 to w0"));
}

TEST(Queue, TreatsAPriorityAboveNineAsNine) {
    Gate gate({.lanes = 1});
    gate.forgo_invariants();
    gate.open();
    const JobId busy = gate.queue_job();
    const JobId nine = gate.queue_job({.priority = 9});
    const JobId beyond = gate.queue_job({.priority = 200});
    gate.ends(busy);
    EXPECT_TRUE(gate.is_running(nine));
    gate.ends(nine);
    EXPECT_TRUE(gate.is_running(beyond));
}

TEST(Queue, AgesJobsSoThatNoPriorityStarves) {
    Gate gate({.lanes = 1, .age_step = 10s});
    gate.open();
    JobId running = gate.queue_job();
    const JobId patient = gate.queue_job({.priority = 0});
    int overtaken = 0;
    while (overtaken < 100) {
        const JobId urgent = gate.queue_job({.priority = 9});
        gate.ends(running);
        if (gate.is_running(patient)) break;
        running = urgent;
        ++overtaken;
        gate.pass(3s);
    }
    EXPECT_EQ(overtaken, 31) << "90 s of ageing, at 3 s a job";
}

TEST(Queue, MergesTheJobsOfOneLaneWithThoseOfAll) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId busy = gate.queue_job();
    gate.queue_job();
    gate.pass(1ms);
    gate.queue_job({.lane = 0});
    gate.pass(1ms);
    gate.queue_job();
    gate.queue_job({.priority = 9, .lane = 0, .limits = {.priority_max = {9}}});
    std::vector<std::string> order;
    for (JobId running = busy; gate.view().jobs > 0;) {
        gate.ends(running);
        if (gate.acts<SendJob>().empty()) break;
        running = gate.acts<SendJob>().front().job;
        order.push_back(gate.name(running));
    }
    EXPECT_THAT(order, ElementsAre("j4", "j1", "j2", "j3"));
}

TEST(Queue, PutsARetryFirst) {
    Gate gate({.lanes = 1});
    gate.open();
    const JobId unlucky = gate.queue_job({.priority = 0});
    gate.queue_job({.priority = 9});
    gate.dies(0);
    gate.pass(1s);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j0 to w1"));
    EXPECT_EQ(gate.sent(unlucky).number, 2U);
}

}  // namespace
}  // namespace turnpike
