// Each test tampers with what the engine did, so that an invariant about workers or lanes is
// broken, and expects the invariants to notice.
#include <gtest/gtest.h>

#include "sim/invariants.h"
#include "tests/unit/sim/stand.h"

namespace turnpike::sim {
namespace {

/// Lane 0 fails `fail_streak` jobs at once while lane 1 is fine. One more job waits, and wants lane
/// 0.
struct FailingLane {
    Stand stand{{.lanes = 2, .fail_streak = 2}};
    JobId waiting;

    FailingLane() {
        stand.open();
        for (int i = 0; i < 2; ++i) {
            JobArrived arrived = stand.arrival();
            arrived.lane_wanted = LaneId{0};
            stand.tell(stand.end_of(stand.queue_job(arrived), Verdict::model_failed));
        }
        JobArrived arrived = stand.arrival();
        arrived.lane_wanted = LaneId{0};
        waiting = stand.arrive(arrived);
    }
};

TEST(InvariantsOfLanes, NoticeAFailingLaneThatGoesOn) {
    FailingLane lane;
    ASSERT_EQ(lane.stand.broken(), "");
    lane.stand.tamper(BodyCompleted{lane.waiting, Bytes{10}},
                      [&](Turn& turn) { turn.add(lane.stand.send_of(lane.waiting, 0)); });
    EXPECT_EQ(lane.stand.broken(), invariant::failing_lane);
}

TEST(InvariantsOfLanes, NoticeAModelBlamedForOneLane) {
    FailingLane lane;
    lane.stand.tamper(lane.stand.arrival(),
                      [](Turn& turn) { turn.add(ReportModelFailing{PoolId{0}, LaneId{0}}); });
    EXPECT_EQ(lane.stand.broken(), invariant::failing_lane);
}

/// Lane 0 failed twice, has rested and is on probation.
struct LaneOnProbation {
    Stand stand{{.lanes = 2, .slots = 3, .restart_delay_min = 200ms, .fail_streak = 2}};

    LaneOnProbation() { stand.open(); }
    JobArrived arrival() {
        JobArrived arrived = stand.arrival();
        arrived.lane_wanted = LaneId{0};
        return arrived;
    }
    JobId queue_job() { return stand.queue_job(arrival()); }
    void send_aside() {
        JobArrived arrived = arrival();
        arrived.is_aside = true;
        stand.queue_job(arrived);
    }
    void fail_and_rest() {
        for (int i = 0; i < 2; ++i) stand.tell(stand.end_of(queue_job(), Verdict::model_failed));
        stand.pass(1s);
    }
    /// Sends a job to lane 0, but hides that from the invariants.
    void job_waits() {
        const JobId job = stand.arrive(arrival());
        stand.tamper(BodyCompleted{job, Bytes{10}}, [](Turn& turn) { turn.drop<SendJob>(); });
    }
};

TEST(InvariantsOfLanes, NoticeALaneOnProbationThatWaitsForAnAside) {
    LaneOnProbation lane;
    lane.fail_and_rest();
    lane.send_aside();
    ASSERT_EQ(lane.stand.broken(), "");
    lane.job_waits();
    EXPECT_EQ(lane.stand.broken(), invariant::no_idle);
}

TEST(InvariantsOfLanes, NoticeALaneOnProbationThatWaitsForItsOldWorker) {
    LaneOnProbation lane;
    lane.queue_job();
    lane.stand.tell(ReloadAsked{PoolId{0}, Generation{2}, ReloadKind::beside});
    for (const LaneView& seen : lane.stand.engine().view(lane.stand.now()).lanes)
        lane.stand.comes_up(seen.other);
    lane.fail_and_rest();
    ASSERT_EQ(lane.stand.broken(), "");
    lane.job_waits();
    EXPECT_EQ(lane.stand.broken(), invariant::no_idle);
}

TEST(InvariantsOfLanes, NoticeAWorkerThatFailedItsProofAndStays) {
    Stand stand({.proof = ProofKind::fixed});
    stand.tell(GateOpened{});
    stand.tell(WorkerReady{stand.worker(0)});
    ProofEnded proof = stand.proof_of(stand.worker(0));
    proof.verdict = ProofVerdict::failed;
    stand.tamper(proof, [](Turn& turn) { turn.drop<StopWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::proof);
}

TEST(InvariantsOfLanes, NoticeAJobForADrainingLane) {
    Stand stand({.slots = 2});
    stand.open();
    stand.queue_job();
    const JobId second = stand.arrive(stand.arrival());
    stand.tell(DrainAsked{LaneId{0}});
    stand.tamper(BodyCompleted{second, Bytes{10}},
                 [&](Turn& turn) { turn.actions = {stand.send_of(second, 0)}; });
    EXPECT_EQ(stand.broken(), invariant::off);
}

TEST(InvariantsOfLanes, NoticeAStartOnADrainedLane) {
    Stand stand({.lanes = 2});
    stand.open();
    const WorkerId worker = stand.worker(0);
    stand.tell(DrainAsked{LaneId{0}});
    stand.tell(WorkerExited{worker});
    stand.tamper(WorkerGone{worker}, [](Turn& turn) {
        turn.add(StartWorker{WorkerId{99}, LaneId{0}, turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::off);
}

TEST(InvariantsOfLanes, NoticeARestartWithoutDelay) {
    Stand stand;
    stand.open();
    const WorkerId worker = stand.worker(0);
    stand.tell(WorkerExited{worker});
    stand.tamper(WorkerGone{worker}, [](Turn& turn) {
        turn.add(StartWorker{WorkerId{99}, LaneId{0}, turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::restart);
}

TEST(InvariantsOfLanes, NoticeAStartBesideALivingWorker) {
    Stand stand;
    stand.open();
    stand.tamper(stand.arrival(), [](Turn& turn) {
        turn.add(StartWorker{WorkerId{99}, LaneId{0}, turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::restart);
}

TEST(InvariantsOfLanes, NoticeALaneThatIsGivenUpTooEarly) {
    Stand stand({.crash_limit = 2});
    stand.open();
    stand.tamper(WorkerExited{stand.worker(0)}, [](Turn& turn) {
        turn.the<ReportLane>().state = LaneState::failed;
        turn.view.lanes[0].state = LaneState::failed;
    });
    EXPECT_EQ(stand.broken(), invariant::restart);
}

TEST(InvariantsOfLanes, NoticeALaneThatNeverStarts) {
    Stand stand;
    stand.open();
    stand.dies(stand.worker(0));
    stand.later(1h);
    stand.tamper(TimePassed{}, [](Turn& turn) {
        turn.drop<StartWorker>();
        turn.drop<ReportLane>();
        turn.view.lanes[0].state = LaneState::backoff;
    });
    EXPECT_EQ(stand.broken(), invariant::restart);
}

TEST(InvariantsOfLanes, NoticeADeadlineThatHasPassed) {
    Stand stand;
    stand.open();
    stand.tamper(stand.arrival(), [&](Turn& turn) { turn.next_deadline = stand.now(); });
    EXPECT_EQ(stand.broken(), invariant::clock);
}

TEST(InvariantsOfLanes, NoticeAStopThatIsNotFollowedByAKill) {
    Stand stand;
    stand.open();
    stand.tell(DrainAsked{LaneId{0}});
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<KillWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::clock);
}

TEST(InvariantsOfLanes, NoticeASurvivorWhoseLaneStays) {
    Stand stand;
    stand.open();
    stand.tell(DrainAsked{LaneId{0}});
    stand.wake();
    stand.tamper_at_deadline([](Turn& turn) {
        turn.the<ReportLane>().state = LaneState::draining;
        turn.view.lanes[0].state = LaneState::draining;
    });
    EXPECT_EQ(stand.broken(), invariant::clock);
}

TEST(InvariantsOfLanes, NoticeAWorkerThatIsStoppedForNothing) {
    Stand stand;
    stand.open();
    stand.tamper(stand.arrival(),
                 [&](Turn& turn) { turn.add(StopWorker{stand.worker(0), Reason::drain_asked}); });
    EXPECT_EQ(stand.broken(), invariant::ending);
}

TEST(InvariantsOfLanes, NoticeAWorkerThatIsStoppedUnderAJob) {
    Stand stand;
    stand.open();
    stand.queue_job();
    stand.tamper(DrainAsked{LaneId{0}},
                 [&](Turn& turn) { turn.add(StopWorker{stand.worker(0), Reason::drain_asked}); });
    EXPECT_EQ(stand.broken(), invariant::ending);
}

TEST(InvariantsOfLanes, NoticeAJobForAWorkerThatExited) {
    Stand stand;
    stand.open();
    const JobId job = stand.arrive(stand.arrival());
    stand.tell(WorkerExited{stand.worker(0)});
    stand.tamper(BodyCompleted{job, Bytes{10}},
                 [&](Turn& turn) { turn.add(stand.send_of(job, 0)); });
    EXPECT_EQ(stand.broken(), invariant::ending);
}

TEST(InvariantsOfLanes, NoticeADrainedWorkerThatStays) {
    Stand stand;
    stand.open();
    stand.tamper(DrainAsked{LaneId{0}}, [](Turn& turn) { turn.drop<StopWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::ending);
}

/// Three lanes vote. The third gives another answer, and has to leave.
struct Vote {
    Stand stand{{.lanes = 3, .proof = ProofKind::agree}};

    Vote() {
        stand.tell(GateOpened{});
        stand.comes_up(stand.worker(0), 0);
        stand.comes_up(stand.worker(1), 0);
        stand.tell(WorkerReady{stand.worker(2)});
    }
    [[nodiscard]] ProofEnded other_answer() const { return stand.proof_of(stand.worker(2), 1); }
};

TEST(InvariantsOfLanes, NoticeALaneOfTheMajorityThatIsStopped) {
    Vote vote;
    vote.stand.tamper(vote.other_answer(),
                      [&](Turn& turn) { turn.the<StopWorker>().worker = vote.stand.worker(0); });
    EXPECT_EQ(vote.stand.broken(), invariant::agreement);
}

TEST(InvariantsOfLanes, NoticeALaneOutsideTheMajorityThatServes) {
    Vote vote;
    JobArrived arrived = vote.stand.arrival();
    arrived.lane_wanted = LaneId{2};
    const JobId job = vote.stand.queue_job(arrived);
    ASSERT_EQ(vote.stand.broken(), "");
    vote.stand.tamper(vote.other_answer(), [&](Turn& turn) {
        turn.drop<StopWorker>();
        turn.add(vote.stand.send_of(job, 2));
    });
    EXPECT_EQ(vote.stand.broken(), invariant::agreement);
}

TEST(InvariantsOfLanes, NoticeAGenerationThatIsGoodWithoutProof) {
    Stand stand({.proof = ProofKind::fixed});
    stand.open();
    stand.tamper(ReloadAsked{PoolId{0}, Generation{7}},
                 [](Turn& turn) { turn.view.pools[0].good = Generation{7}; });
    EXPECT_EQ(stand.broken(), invariant::reload);
}

TEST(InvariantsOfLanes, NoticeAStartWithCodeThatIsNotGood) {
    Stand stand;
    stand.open();
    stand.dies(stand.worker(0));
    stand.tamper_at_deadline(
        [](Turn& turn) { turn.the<StartWorker>().generation = Generation{7}; });
    EXPECT_EQ(stand.broken(), invariant::reload);
}

TEST(InvariantsOfLanes, NoticeAnIdleWorkerThatIsNotProbed) {
    Stand stand;
    stand.open();
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<ProbeWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::health);
}

TEST(InvariantsOfLanes, NoticeAProofThatIsNotAskedFor) {
    Stand stand({.proof = ProofKind::fixed});
    stand.tell(GateOpened{});
    stand.tamper(WorkerReady{stand.worker(0)}, [](Turn& turn) { turn.drop<ProveWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::health);
}

TEST(InvariantsOfLanes, NoticeAProofWhileAJobRuns) {
    Stand stand({.proof = ProofKind::fixed});
    stand.open();
    stand.queue_job();
    stand.tamper(ProveAsked{PoolId{0}},
                 [&](Turn& turn) { turn.add(ProveWorker{stand.worker(0), 2}); });
    EXPECT_EQ(stand.broken(), invariant::health);
}

TEST(InvariantsOfLanes, NoticeALaneThatChangesWithoutAReport) {
    Stand stand;
    stand.open();
    stand.tamper(DrainAsked{LaneId{0}}, [](Turn& turn) { turn.drop<ReportLane>(); });
    EXPECT_EQ(stand.broken(), invariant::counts);
}

TEST(InvariantsOfLanes, NoticeTooManyWorkersThatLoad) {
    Stand stand(Settings{.pools = {{.lanes = 2}}, .load_parallel_max = 1});
    stand.tamper(GateOpened{}, [](Turn& turn) {
        turn.add(StartWorker{WorkerId{99}, LaneId{1}, turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::bounds);
}

}  // namespace
}  // namespace turnpike::sim
