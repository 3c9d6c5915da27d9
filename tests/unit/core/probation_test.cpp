// A distrusted lane: rest, probation, relapse (trust.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::distrusting;
using test::Gate;
using testing::ElementsAre;

/// Two lanes with two slots; lane 0 failed three times and has rested.
struct OnProbation {
    OnProbation()
        : gate([] {
              PoolSettings settings = distrusting();
              settings.slots = settings.batch = 2;
              return settings;
          }()) {
        gate.open();
        gate.run_jobs(0, 3, Verdict::model_failed);
        gate.pass(13s);
    }
    Gate gate;
};

TEST(Probation, TakesOneJobAtATimeOnProbation) {
    OnProbation scene;
    Gate& gate = scene.gate;
    const JobId first = gate.queue_job({.lane = 0});
    const JobId second = gate.queue_job({.lane = 0});
    EXPECT_TRUE(gate.is_running(first));
    EXPECT_TRUE(gate.is_queued(second)) << "though slots are free";
    gate.queue_job({.lane = 0});
    gate.ends(first);
    EXPECT_THAT(gate.deeds(),
                ElementsAre("end j3 answered", "send j4 to w0 1/2", "send j5 to w0 2/2"))
        << "a success clears it";
}

TEST(Probation, SendsNoBatchOnProbation) {
    PoolSettings settings = distrusting();
    settings.batch = 4;
    Gate gate(settings);
    gate.open();
    gate.run_jobs(0, 3, Verdict::model_failed);
    for (int i = 0; i < 4; ++i) gate.queue_job({.lane = 0});
    gate.pass(13s);
    EXPECT_THAT(gate.deeds(), ElementsAre("send j3 to w0"));
}

TEST(Probation, TakesNothingOnProbationWhileAnAbandonedAttemptIsAboard) {
    OnProbation scene;
    Gate& gate = scene.gate;
    gate.tell(ClientLeft{gate.queue_job({.lane = 0})});
    EXPECT_TRUE(gate.is_queued(gate.queue_job({.lane = 0})));
}

/// On a lane with three slots the old worker streams an answer. The new one failed three times and rests.
struct BesideAnOldWorker {
    BesideAnOldWorker()
        : gate([] {
              PoolSettings settings = distrusting();
              settings.slots = 3;
              settings.job_timeout = 1min;
              return settings;
          }()) {
        gate.open();
        stream = gate.queue_job({.lane = 0});
        gate.begins(stream);
        gate.reload(2);
        gate.comes_up(gate.other(0));
        gate.comes_up(gate.other(1));
        gate.run_jobs(0, 3, Verdict::model_failed);
    }
    Gate gate;
    JobId stream;
};

TEST(Probation, DoesNotWaitForTheJobsOfTheOldWorkerAfterAReload) {
    BesideAnOldWorker scene;
    Gate& gate = scene.gate;
    const JobId first = gate.queue_job({.lane = 0});
    const JobId second = gate.queue_job({.lane = 0});
    gate.pass(12500ms);
    EXPECT_TRUE(gate.is_running(scene.stream));
    ASSERT_TRUE(gate.is_running(first)) << "two of three slots are free";
    EXPECT_TRUE(gate.is_queued(second)) << "one job at a time";
    gate.ends(first);
    EXPECT_TRUE(gate.is_running(second));
}

TEST(Probation, DoesNotWaitForAnAside) {
    OnProbation scene;
    Gate& gate = scene.gate;
    const JobId aside = gate.queue_job({.lane = 0, .is_aside = true});
    const JobId job = gate.queue_job({.lane = 0});
    EXPECT_TRUE(gate.is_running(aside));
    EXPECT_TRUE(gate.is_running(job));
    EXPECT_TRUE(gate.is_queued(gate.queue_job({.lane = 0})));
}

TEST(Probation, RestsLongerAfterEachRelapse) {
    Gate gate(distrusting());
    gate.open();
    gate.run_jobs(0, 3, Verdict::model_failed);
    for (const Duration plain : {10s, 20s, 40s, 40s}) {
        const JobId job = gate.queue_job({.lane = 0});
        gate.pass(plain * 3 / 4 - 1ns);
        EXPECT_TRUE(gate.is_queued(job)) << plain.count();
        gate.pass(plain / 2 + 1ns);
        ASSERT_TRUE(gate.is_running(job)) << plain.count();
        gate.ends(job, Verdict::model_failed);
        EXPECT_EQ(gate.reason(0), Reason::failing_jobs) << "one failure is enough on probation";
    }
}

TEST(Probation, RestsBrieflyAgainAfterASuccess) {
    OnProbation scene;
    Gate& gate = scene.gate;
    gate.run_jobs(0, 1, Verdict::model_failed);
    gate.pass(25s);
    gate.run_jobs(0, 1, Verdict::answered);
    gate.run_jobs(0, 3, Verdict::model_failed);
    const JobId job = gate.queue_job({.lane = 0});
    gate.pass(12500ms);
    EXPECT_TRUE(gate.is_running(job)) << "10 s ± 25 %, as the first time";
}

TEST(Probation, EndsProbationWhenEveryOtherLaneFailsToo) {
    OnProbation scene;
    Gate& gate = scene.gate;
    gate.run_jobs(1, 1, Verdict::model_failed);
    gate.run_jobs(0, 1, Verdict::model_failed);
    EXPECT_THAT(gate.deeds(), ElementsAre("end j4 model_failed", "model failing on 0"));
    EXPECT_EQ(gate.state(0), LaneState::ready);
    const JobId a = gate.queue_job({.lane = 0});
    const JobId b = gate.queue_job({.lane = 0});
    EXPECT_TRUE(gate.is_running(a) && gate.is_running(b));
}

TEST(Probation, DoesNotPunishTwiceForJobsThatWereSentBefore) {
    PoolSettings settings = distrusting();
    settings.slots = 5;
    Gate gate(settings);
    gate.open();
    std::vector<JobId> jobs;
    for (int i = 0; i < 5; ++i) jobs.push_back(gate.queue_job({.lane = 0}));
    for (const JobId job : jobs) gate.ends(job, Verdict::model_failed);
    const JobId next = gate.queue_job({.lane = 0});
    gate.pass(12500ms);
    EXPECT_TRUE(gate.is_running(next)) << "one short rest";
}

TEST(Probation, IsRestoredByASuccessOfAJobThatWasSentBefore) {
    PoolSettings settings = distrusting();
    settings.slots = 4;
    Gate gate(settings);
    gate.open();
    const JobId sent_before = gate.queue_job({.lane = 0});
    gate.run_jobs(0, 3, Verdict::model_failed);
    ASSERT_EQ(gate.state(0), LaneState::backoff);
    gate.ends(sent_before);
    EXPECT_EQ(gate.state(0), LaneState::ready);
    const JobId a = gate.queue_job({.lane = 0});
    const JobId b = gate.queue_job({.lane = 0});
    EXPECT_TRUE(gate.is_running(a) && gate.is_running(b)) << "no probation";
}

TEST(Probation, LetsABrokenLaneSwallowOnlyOneJobPerRest) {
    Gate gate(distrusting());
    gate.open();
    int swallowed = 0;
    JobId good = gate.queue_job({.lane = 1});
    for (int second = 0; second < 200; ++second) {
        gate.queue_job();
        while (gate.state(0) == LaneState::busy) {  // fails at once whatever it gets
            const auto sent = gate.acts<SendJob>();
            const auto mine = std::ranges::find(sent, LaneId{0}, &SendJob::lane);
            ASSERT_NE(mine, sent.end());
            gate.ends(mine->job, Verdict::model_failed);
            ++swallowed;
        }
        gate.ends(good);
        good = gate.acts<SendJob>().empty() ? gate.queue_job({.lane = 1})
                                            : gate.acts<SendJob>().front().job;
        gate.pass(1s);
        if (gate.state(0) == LaneState::busy) {
            const auto sent = gate.acts<SendJob>();
            gate.ends(sent.back().job, Verdict::model_failed);
            ++swallowed;
        }
    }
    EXPECT_GE(swallowed, 3 + 4);
    EXPECT_LE(swallowed, 3 + 8) << "three, then one after each rest of 10, 20, 40, 40 … s";
}

TEST(Probation, KeepsARestThatADrainInterrupted) {
    PoolSettings settings = distrusting();
    settings.slots = 4;
    Gate gate(settings);
    gate.open();
    const JobId neighbour = gate.queue_job({.lane = 0});
    gate.run_jobs(0, 3, Verdict::model_failed);
    gate.drain(0), gate.resume(0);
    EXPECT_EQ(gate.reason(0), Reason::failing_jobs);
    EXPECT_TRUE(gate.is_running(neighbour));
    gate.pass(12500ms);
    EXPECT_EQ(gate.state(0), LaneState::busy);
}

}  // namespace
}  // namespace turnpike
