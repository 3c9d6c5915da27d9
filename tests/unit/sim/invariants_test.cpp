// Each test tampers with what the engine did, so that an invariant about jobs or attempts is
// broken, and expects the invariants to notice.
#include "sim/invariants.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/unit/sim/stand.h"

namespace turnpike::sim {
namespace {

TEST(Invariants, HaveDistinctSentences) {
    const std::set<std::string_view> sentences(invariant::all.begin(), invariant::all.end());
    EXPECT_EQ(sentences.size(), invariant::all.size());
}

TEST(Invariants, AcceptWhatTheEngineReallyDid) {
    Stand stand({.lanes = 2, .slots = 2});
    stand.open();
    const JobId first = stand.queue_job();
    const JobId second = stand.queue_job();
    stand.tell(stand.end_of(first));
    stand.tell(stand.end_of(second, Verdict::model_failed));
    stand.dies(stand.worker(0));
    stand.pass(10s);
    stand.comes_up(stand.worker(0));
    stand.pass(10s);
    stand.invariants().check_calm(stand.now(), stand.engine(), Healed::yes);
    EXPECT_EQ(stand.broken(), "");
}

TEST(Invariants, NoticeAnArrivalWithoutADecision) {
    Stand stand;
    stand.open();
    stand.tamper(stand.arrival(), [](Turn& turn) { turn.drop<AdmitJob>(); });
    EXPECT_EQ(stand.broken(), invariant::one_answer);
}

TEST(Invariants, NoticeAJobWithoutAnAnswer) {
    Stand stand;
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(stand.end_of(job), [](Turn& turn) { turn.drop<EndJob>(); });
    EXPECT_EQ(stand.broken(), invariant::one_answer);
}

TEST(Invariants, NoticeASecondAnswer) {
    Stand stand;
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(stand.end_of(job), [](Turn& turn) { turn.add(turn.the<EndJob>()); });
    EXPECT_EQ(stand.broken(), invariant::one_answer);
}

TEST(Invariants, NoticeAnAnswerThatNoAttemptGave) {
    Stand stand;
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(ClientLeft{job},
                 [](Turn& turn) { turn.the<EndJob>().reason = EndReason::answered; });
    EXPECT_EQ(stand.broken(), invariant::one_answer);
}

TEST(Invariants, NoticeMoreJobsThanSlots) {
    Stand stand;
    stand.open();
    stand.queue_job();
    const JobId waiting = stand.arrive(stand.arrival());
    stand.tamper(BodyCompleted{waiting, Bytes{10}},
                 [&](Turn& turn) { turn.add(stand.send_of(waiting, 0)); });
    EXPECT_EQ(stand.broken(), invariant::capacity);
}

TEST(Invariants, NoticeAJobForAWorkerThatLoads) {
    Stand stand;
    stand.tell(GateOpened{});
    const JobId waiting = stand.arrive(stand.arrival());
    stand.tamper(BodyCompleted{waiting, Bytes{10}},
                 [&](Turn& turn) { turn.add(stand.send_of(waiting, 0)); });
    EXPECT_EQ(stand.broken(), invariant::capacity);
}

TEST(Invariants, NoticeAJobForAWorkerThatHasNotProvedItself) {
    Stand stand({.proof = ProofKind::fixed});
    stand.tell(GateOpened{});
    stand.tell(WorkerReady{stand.worker(0)});
    const JobId waiting = stand.arrive(stand.arrival());
    stand.tamper(BodyCompleted{waiting, Bytes{10}},
                 [&](Turn& turn) { turn.add(stand.send_of(waiting, 0)); });
    EXPECT_EQ(stand.broken(), invariant::capacity);
}

TEST(Invariants, NoticeALaneThatIsIdleWhileAJobWaits) {
    Stand stand;
    stand.open();
    const JobId job = stand.arrive(stand.arrival());
    stand.tamper(BodyCompleted{job, Bytes{10}}, [](Turn& turn) { turn.drop<SendJob>(); });
    EXPECT_EQ(stand.broken(), invariant::no_idle);
}

TEST(Invariants, NoticeABatchWithRoomWhileJobsWait) {
    Stand stand({.batch = 2});
    stand.open();
    const JobId first = stand.queue_job();
    stand.queue_job();
    stand.queue_job();
    stand.tamper(stand.end_of(first), [](Turn& turn) {
        turn.actions.pop_back();
        turn.the<SendJob>().batch_size = 1;
    });
    EXPECT_EQ(stand.broken(), invariant::no_idle);
}

/// Two jobs shared the worker of the only lane when it died. One rides alone now; the other waits.
struct LoneRide {
    Stand stand{{.slots = 2}};
    JobId riding;
    JobId waiting;

    LoneRide() {
        stand.open();
        riding = stand.queue_job();
        waiting = stand.queue_job();
        stand.dies(stand.worker(0));
        stand.wake();
        stand.comes_up(stand.worker(0));
        if (stand.sent(waiting).number == 2) std::swap(riding, waiting);
    }
};

TEST(Invariants, NoticeAnotherJobOnALoneRide) {
    LoneRide ride;
    ASSERT_EQ(ride.stand.broken(), "");
    const JobId third = ride.stand.arrive(ride.stand.arrival());
    ride.stand.tamper(BodyCompleted{third, Bytes{10}},
                      [&](Turn& turn) { turn.add(ride.stand.send_of(third, 0)); });
    EXPECT_EQ(ride.stand.broken(), invariant::alone);
}

TEST(Invariants, NoticeALaneThatIsReservedForNobody) {
    Stand stand({.slots = 2});
    stand.open();
    stand.tamper(stand.arrival(), [](Turn& turn) { turn.view.lanes[0].is_reserved = true; });
    EXPECT_EQ(stand.broken(), invariant::alone);
}

TEST(Invariants, NoticeAJobThatOvertakes) {
    Stand stand;
    stand.open();
    const JobId running = stand.queue_job();
    stand.queue_job();
    const JobId last = stand.queue_job();
    stand.tamper(stand.end_of(running), [&](Turn& turn) { turn.the<SendJob>().job = last; });
    EXPECT_EQ(stand.broken(), invariant::order);
}

TEST(Invariants, NoticeAJobOnALaneThatItDoesNotWant) {
    Stand stand({.lanes = 2});
    stand.open();
    JobArrived arrived = stand.arrival();
    arrived.lane_wanted = LaneId{1};
    const JobId job = stand.arrive(arrived);
    stand.tamper(BodyCompleted{job, Bytes{10}},
                 [&](Turn& turn) { turn.the<SendJob>() = stand.send_of(job, 0); });
    EXPECT_EQ(stand.broken(), invariant::order);
}

TEST(Invariants, NoticeALaneWithFewerFreeSlots) {
    Stand stand({.lanes = 2, .slots = 2});
    stand.open();
    const JobId first = stand.queue_job();
    const JobId second = stand.arrive(stand.arrival());
    const std::size_t lane = stand.sent(first).lane.value;
    stand.tamper(BodyCompleted{second, Bytes{10}},
                 [&](Turn& turn) { turn.the<SendJob>() = stand.send_of(second, lane); });
    EXPECT_EQ(stand.broken(), invariant::placement);
}

TEST(Invariants, NoticeAJobThatOutlivesItsDeadline) {
    Stand stand;
    stand.tell(GateOpened{});
    JobArrived arrived = stand.arrival();
    arrived.timeout = 1s;
    stand.queue_job(arrived);
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<EndJob>(); });
    EXPECT_EQ(stand.broken(), invariant::in_time);
}

TEST(Invariants, NoticeAnAttemptThatOutlivesItsTimeout) {
    Stand stand({.job_timeout = 1s, .slow_min = 5s});
    stand.open();
    stand.queue_job();
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<EndJob>(); });
    EXPECT_EQ(stand.broken(), invariant::in_time);
}

TEST(Invariants, NoticeATimeoutBeforeItsTime) {
    Stand stand;
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(ClientLeft{job},
                 [](Turn& turn) { turn.the<EndJob>().reason = EndReason::ran_too_long; });
    EXPECT_EQ(stand.broken(), invariant::in_time);
}

TEST(Invariants, NoticeAnAttemptWithAWrongNumber) {
    Stand stand;
    stand.open();
    const JobId job = stand.arrive(stand.arrival());
    stand.tamper(BodyCompleted{job, Bytes{10}}, [](Turn& turn) { turn.the<SendJob>().number = 2; });
    EXPECT_EQ(stand.broken(), invariant::one_owner);
}

TEST(Invariants, NoticeASecondAttemptBesideTheFirst) {
    Stand stand({.lanes = 2});
    stand.open();
    const JobId job = stand.queue_job();
    const std::size_t other = stand.sent(job).lane.value == 0 ? 1 : 0;
    stand.tamper(stand.arrival(), [&](Turn& turn) { turn.add(stand.send_of(job, other)); });
    EXPECT_EQ(stand.broken(), invariant::one_owner);
}

TEST(Invariants, NoticeAnInnocentNeighbourBlamed) {
    Stand stand({.slots = 2});
    stand.open();
    stand.queue_job();
    const JobId neighbour = stand.queue_job();
    const SendJob sent = stand.sent(neighbour);
    stand.tamper(WorkerExited{stand.worker(0)}, [&](Turn& turn) {
        turn.add(EndJob{.job = neighbour,
                        .reason = EndReason::poison,
                        .attempt = sent.attempt,
                        .attempts = 1,
                        .lane = sent.lane});
    });
    EXPECT_EQ(stand.broken(), invariant::blame);
}

TEST(Invariants, NoticePoisonThatRunsAgain) {
    Stand stand;
    stand.open();
    stand.queue_job();
    stand.dies(stand.worker(0));
    stand.wake();
    stand.comes_up(stand.worker(0));
    stand.tamper(WorkerExited{stand.worker(0)}, [](Turn& turn) { turn.drop<EndJob>(); });
    EXPECT_EQ(stand.broken(), invariant::blame);
}

TEST(Invariants, NoticeACancelThatIsForgotten) {
    Stand stand({.cancel = CancelPolicy::close});
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(ClientLeft{job}, [](Turn& turn) { turn.drop<CancelAttempt>(); });
    EXPECT_EQ(stand.broken(), invariant::cancel);
}

TEST(Invariants, NoticeACancelAgainstThePolicy) {
    Stand stand({.cancel = CancelPolicy::finish});
    stand.open();
    const JobId job = stand.queue_job();
    const SendJob sent = stand.sent(job);
    stand.tamper(ClientLeft{job},
                 [&](Turn& turn) { turn.add(CancelAttempt{sent.worker, sent.attempt}); });
    EXPECT_EQ(stand.broken(), invariant::cancel);
}

TEST(Invariants, NoticeAStuckWorkerThatIsNotKilled) {
    Stand stand({.job_timeout = 1s, .cancel_grace = 1s, .slow_min = 5s});
    stand.open();
    stand.queue_job();
    stand.wake();
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<KillWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::cancel);
}

TEST(Invariants, NoticeASlowJobThatIsNotSlow) {
    Stand stand;
    stand.open();
    const SendJob sent = stand.sent(stand.queue_job());
    stand.tamper(stand.arrival(), [&](Turn& turn) {
        turn.add(ReportSlowJob{sent.job, sent.attempt, sent.worker, 1s});
    });
    EXPECT_EQ(stand.broken(), invariant::slow);
}

TEST(Invariants, NoticeASlowJobThatIsNotReported) {
    Stand stand({.slow_factor = 2, .slow_min = 10ms, .slow_samples_min = 1});
    stand.open();
    const JobId usual = stand.queue_job();
    stand.later(2ms);
    stand.tell(stand.end_of(usual));
    stand.queue_job();
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<ReportSlowJob>(); });
    EXPECT_EQ(stand.broken(), invariant::slow);
}

TEST(Invariants, NoticeAQueueBeyondItsBound) {
    Stand stand({.queue_jobs_max = 1});
    stand.open();
    stand.arrive(stand.arrival());
    const JobArrived arrived = stand.arrival();
    stand.tamper(arrived, [&](Turn& turn) {
        turn.drop<RefuseJob>();
        turn.add(AdmitJob{arrived.ticket, JobId{77}});
    });
    EXPECT_EQ(stand.broken(), invariant::bounds);
}

TEST(Invariants, NoticeARefusalWithoutReason) {
    Stand stand;
    stand.open();
    const JobArrived arrived = stand.arrival();
    stand.tamper(arrived, [&](Turn& turn) {
        turn.drop<AdmitJob>();
        turn.add(RefuseJob{arrived.ticket, PoolId{0}, EndReason::queue_full});
    });
    EXPECT_EQ(stand.broken(), invariant::refusal);
}

TEST(Invariants, NoticeAWaitThatIsOutOfBounds) {
    Stand stand({.queue_jobs_max = 1});
    stand.open();
    stand.arrive(stand.arrival());
    stand.tamper(stand.arrival(), [](Turn& turn) { turn.the<RefuseJob>().retry_after = 1ns; });
    EXPECT_EQ(stand.broken(), invariant::refusal);
}

TEST(Invariants, NoticeAJobAdmittedDuringShutdown) {
    Stand stand;
    stand.open();
    stand.tell(ShutdownAsked{10s});
    const JobArrived arrived = stand.arrival();
    stand.tamper(arrived, [&](Turn& turn) {
        turn.drop<RefuseJob>();
        turn.add(AdmitJob{arrived.ticket, JobId{77}});
    });
    EXPECT_EQ(stand.broken(), invariant::shutdown);
}

TEST(Invariants, NoticeThatItLeavesWhileAWorkerLives) {
    Stand stand;
    stand.open();
    stand.tamper(ShutdownAsked{10s}, [](Turn& turn) { turn.add(Leave{}); });
    EXPECT_EQ(stand.broken(), invariant::shutdown);
}

TEST(Invariants, NoticeThatItDoesNotLeaveWhenAllIsOver) {
    Stand stand;
    stand.open();
    const WorkerId worker = stand.worker(0);
    stand.tell(ShutdownAsked{10s});
    stand.tell(WorkerExited{worker});
    stand.tamper(WorkerGone{worker}, [](Turn& turn) { turn.drop<Leave>(); });
    EXPECT_EQ(stand.broken(), invariant::shutdown);
}

TEST(Invariants, NoticeCountersThatDoNotAddUp) {
    for (const auto& lie : std::vector<Stand::Tampering>{
             [](Turn& turn) { ++turn.view.jobs; }, [](Turn& turn) { ++turn.view.attempts; },
             [](Turn& turn) { ++turn.view.workers; },
             [](Turn& turn) { ++turn.view.bytes_held.count; },
             [](Turn& turn) { ++turn.view.pools[0].queued; },
             [](Turn& turn) { ++turn.view.lanes[0].aboard; },
             [](Turn& turn) { ++turn.view.pools[0].counts.failed; },
             [](Turn& turn) { turn.view.pools[0].oldest_wait += 1s; }}) {
        Stand stand;
        stand.open();
        stand.tamper(stand.arrival(), lie);
        EXPECT_EQ(stand.broken(), invariant::counts);
    }
}

TEST(Invariants, NoticeAJobThatIsLeftOverInTheCalm) {
    Stand stand;
    stand.open();
    stand.queue_job();
    stand.invariants().check_calm(stand.now(), stand.engine(), Healed::no);
    EXPECT_EQ(stand.broken(), invariant::calm);
}

TEST(Invariants, NoticeALaneThatDoesNotComeBackInTheCalm) {
    Stand stand;
    stand.open();
    stand.dies(stand.worker(0));
    stand.invariants().check_calm(stand.now(), stand.engine(), Healed::yes);
    EXPECT_EQ(stand.broken(), invariant::calm);
}

}  // namespace
}  // namespace turnpike::sim
