// Each test tampers with what the engine did, so that an invariant about blame, about clients that
// leave or about failed lanes is broken, and expects the invariants to notice.
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "sim/invariants.h"
#include "tests/unit/sim/stand.h"

namespace turnpike::sim {
namespace {

/// A stand with two lanes on which a job was poison: it died on both.
struct Poisoned {
    Stand stand{PoolSettings{.lanes = 2}};

    Poisoned() {
        stand.open();
        const JobId job = stand.queue_job();
        stand.dies(stand.sent(job).worker);
        stand.dies(stand.sent(job).worker);
        stand.tell(JobHashed{job, Digest{.high = 1, .low = 2}});
    }
};

/// A stand with two lanes of which the first has failed: its worker crashed before it served. The next
/// deadline is that of its next try.
struct FailedLane {
    Stand stand{
        PoolSettings{.lanes = 2, .crash_limit = 1, .revive_every = 1s, .probe_every = 1min}};

    FailedLane() {
        stand.tell(GateOpened{});
        const WorkerId worker = stand.worker(0);
        stand.comes_up(stand.worker(1));
        stand.dies(worker);
    }
};

/// A stand whose client left 1 s before another job came, which ended as soon as it was sent. So the clock of
/// the worker started again. It runs for 2 s, then cancel_grace for 1 s.
struct ClockThatStartedAgain {
    Stand stand{PoolSettings{.slots = 2,
                             .cancel_grace = 1s,
                             .abandon_after = 2s,
                             .probe_every = 1min,
                             .slow_min = 1min}};

    ClockThatStartedAgain() {
        stand.open();
        stand.tell(ClientLeft{stand.queue_job()});
        JobArrived brief = stand.arrival();
        brief.timeout = 1s;
        const JobId job = stand.arrive(brief);
        stand.later(1s);
        stand.tell(BodyCompleted{job, brief.declared});
        stand.tell(stand.end_of(job));
    }
};

TEST(InvariantsOfJustice, NoticeALaneThatFailsBecauseOfAJob) {
    Stand stand({.lanes = 2});
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(WorkerExited{stand.sent(job).worker}, [&](Turn& turn) {
        turn.the<ReportLane>().state = LaneState::failed;
        turn.view.lanes[turn.the<ReportLane>().lane.value].state = LaneState::failed;
    });
    EXPECT_EQ(stand.broken(), invariant::justice);
}

TEST(InvariantsOfJustice, NoticeTheLastLaneThatFails) {
    Stand stand({.lanes = 1, .crash_limit = 1});
    stand.open();
    stand.tamper(WorkerExited{stand.worker(0)}, [&](Turn& turn) {
        turn.the<ReportLane>().state = LaneState::failed;
        turn.view.lanes[0].state = LaneState::failed;
    });
    EXPECT_EQ(stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeAFailedLaneThatTriesAgainTooEarly) {
    Stand stand({.lanes = 2, .crash_limit = 1});
    stand.tell(GateOpened{});
    const WorkerId worker = stand.worker(0);
    stand.dies(worker);
    stand.tamper(MemoryFreed{LaneId{0}}, [](Turn& turn) {
        turn.add(StartWorker{
            .worker = WorkerId{99}, .lane = LaneId{0}, .generation = turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeAFailedLaneThatNeverTriesAgain) {
    Stand stand({.lanes = 2, .crash_limit = 1});
    stand.tell(GateOpened{});
    stand.comes_up(stand.worker(1));
    stand.tamper(WorkerExited{stand.worker(0)}, [](Turn& turn) {
        turn.the<ReportLane>().next_try = turn.view.lanes[0].next_try = 1h;
    });
    EXPECT_EQ(stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeAFailedLaneThatDoesNotTryInTime) {
    FailedLane failed;
    failed.stand.tamper_at_deadline([](Turn& turn) { turn.drop<StartWorker>(); });
    EXPECT_EQ(failed.stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeAFailedLaneThatServesAgainButCountsAsFailed) {
    FailedLane failed;
    failed.stand.wake();
    ASSERT_EQ(failed.stand.broken(), "");
    failed.stand.tamper(WorkerReady{failed.stand.worker(0)}, [](Turn& turn) {
        turn.view.lanes[0].state = LaneState::failed;
        turn.drop<ReportLane>();
    });
    EXPECT_EQ(failed.stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeATryDuringAShutdown) {
    FailedLane failed;
    Stand& stand = failed.stand;
    stand.queue_job();
    stand.tell(ShutdownAsked{1h});
    stand.tamper_at_deadline([](Turn& turn) {
        turn.add(StartWorker{
            .worker = WorkerId{99}, .lane = LaneId{0}, .generation = turn.view.pools[0].good});
    });
    EXPECT_EQ(stand.broken(), invariant::revival);
}

TEST(InvariantsOfJustice, NoticeANextTryThatIsNotReported) {
    FailedLane failed;
    failed.stand.wake();
    failed.stand.tamper(WorkerExited{failed.stand.worker(0)},
                        [](Turn& turn) { turn.drop<ReportLane>(); });
    EXPECT_EQ(failed.stand.broken(), invariant::counts);
}

TEST(InvariantsOfJustice, NoticeAReloadThatKeepsATry) {
    FailedLane failed;
    failed.stand.wake();
    failed.stand.tamper(
        ReloadAsked{.pool = PoolId{0}, .generation = Generation{2}, .kind = ReloadKind::in_place},
        [](Turn& turn) {
            std::erase_if(turn.actions, [&](const Action& action) {
                const auto* stop = std::get_if<StopWorker>(&action);
                return stop != nullptr && stop->worker == turn.view.lanes[0].current;
            });
        });
    EXPECT_EQ(failed.stand.broken(), invariant::ending);
}

TEST(InvariantsOfJustice, NoticeAClosedExchangeAfterWhichNobodyProbes) {
    Stand stand({.slots = 2, .cancel = CancelPolicy::close});
    stand.open();
    const JobId job = stand.queue_job();
    const AttemptEnded closed = stand.end_of(job, Verdict::closed);
    stand.tell(ClientLeft{job});
    stand.tamper(closed, [](Turn& turn) { turn.drop<ProbeWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::health);
}

TEST(InvariantsOfJustice, NoticeASuspectThatWaitsForAnotherLaneInVain) {
    Stand stand({.lanes = 1});
    stand.open();
    const JobId job = stand.queue_job();
    stand.dies(stand.sent(job).worker);
    stand.wake();
    stand.tamper(WorkerReady{stand.worker(0)}, [](Turn& turn) {
        turn.view.lanes[0].is_reserved = false;
        turn.drop<SendJob>();
    });
    EXPECT_EQ(stand.broken(), invariant::no_idle);
}

TEST(InvariantsOfJustice, NoticeAnAbandonedAttemptThatHoldsItsLane) {
    Stand stand({.cancel_grace = 1s, .abandon_after = 2s, .probe_every = 1min, .slow_min = 1min});
    stand.open();
    const JobId job = stand.queue_job();
    stand.tell(ClientLeft{job});
    stand.wake();
    stand.tamper_at_deadline([](Turn& turn) { turn.drop<KillWorker>(); });
    EXPECT_EQ(stand.broken(), invariant::abandoned);
}

TEST(InvariantsOfJustice, NoticeAnAbandonedAttemptThatHoldsItsLaneAfterItsClockStartedAgain) {
    ClockThatStartedAgain clock;
    clock.stand.wake();
    ASSERT_EQ(clock.stand.broken(), "");
    clock.stand.tamper_at_deadline([](Turn& turn) { turn.drop<KillWorker>(); });
    EXPECT_EQ(clock.stand.broken(), invariant::abandoned);
}

TEST(InvariantsOfJustice, NoticeAWorkerThatIsKilledAsIfItsClockHadNotStartedAgain) {
    ClockThatStartedAgain clock;
    clock.stand.later(2s);
    clock.stand.tamper(TimePassed{}, [&](Turn& turn) {
        turn.add(KillWorker{clock.stand.worker(0), Reason::job_abandoned});
    });
    EXPECT_EQ(clock.stand.broken(), invariant::leavers);
}

TEST(InvariantsOfJustice, NoticeAWorkerThatIsKilledBecauseItsClientLeft) {
    Stand stand({.cancel = CancelPolicy::finish});
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(ClientLeft{job},
                 [&](Turn& turn) { turn.add(KillWorker{stand.worker(0), Reason::job_abandoned}); });
    EXPECT_EQ(stand.broken(), invariant::leavers);
}

TEST(InvariantsOfJustice, NoticeAJobThatIsSentTwiceAlthoughRetriesAreOff) {
    Stand stand({.may_retry = false});
    stand.open();
    const JobId job = stand.queue_job();
    stand.tamper(stand.end_of(job, Verdict::stale), [&](Turn& turn) {
        turn.actions.clear();
        turn.add(stand.send_of(job, 0));
    });
    EXPECT_EQ(stand.broken(), invariant::sent_once);
}

TEST(InvariantsOfJustice, NoticeAJobThatIsNotComparedWithKnownPoison) {
    Poisoned poisoned;
    const JobId job = poisoned.stand.arrive(poisoned.stand.arrival());
    poisoned.stand.tamper(BodyCompleted{job, Bytes{10}}, [](Turn& turn) { turn.drop<HashJob>(); });
    EXPECT_EQ(poisoned.stand.broken(), invariant::known_poison);
}

TEST(InvariantsOfJustice, NoticeAJobThatIsTakenForAPoison) {
    Poisoned poisoned;
    Stand& stand = poisoned.stand;
    const JobId job = stand.queue_job();
    stand.tamper(JobHashed{job, Digest{.high = 1, .low = 3}}, [&](Turn& turn) {
        turn.actions.clear();
        turn.add(EndJob{.job = job, .reason = EndReason::known_poison});
    });
    EXPECT_EQ(stand.broken(), invariant::known_poison);
}

TEST(InvariantsOfJustice, NoticeAPoisonThatIsForgotten) {
    Stand stand({.lanes = 2});
    stand.open();
    const JobId job = stand.queue_job();
    stand.dies(stand.sent(job).worker);
    stand.tamper(WorkerExited{stand.sent(job).worker}, [](Turn& turn) { turn.drop<HashJob>(); });
    EXPECT_EQ(stand.broken(), invariant::known_poison);
}

TEST(InvariantsOfJustice, NoticeASuspectOnTheLaneWhereItDied) {
    Stand stand({.lanes = 2});
    stand.open();
    const JobId busy = stand.queue_job();
    const JobId job = stand.queue_job();
    const std::uint64_t lane = stand.sent(job).lane.value;
    stand.dies(stand.worker(lane));
    stand.wake();
    stand.tell(WorkerStarted{stand.worker(lane)});
    ASSERT_NE(stand.sent(busy).lane.value, lane);
    stand.tamper(WorkerReady{stand.worker(lane)}, [&](Turn& turn) {
        turn.view.lanes[1 - lane].is_reserved = false;
        turn.view.lanes[lane].is_reserved = true;
        SendJob again = stand.send_of(job, lane);
        again.number = 2;
        turn.add(again);
    });
    EXPECT_EQ(stand.broken(), invariant::blame);
}

}  // namespace
}  // namespace turnpike::sim
