// Each test tampers with what the engine did for one of several clients, and expects the invariants
// to notice.
#include <gtest/gtest.h>

#include <utility>

#include "sim/invariants.h"
#include "tests/unit/sim/stand.h"

namespace turnpike::sim {
namespace {

JobArrived arrival_of(Stand& stand, std::uint64_t client) {
    JobArrived arrived = stand.arrival();
    arrived.client = ClientId{client};
    return arrived;
}

/// The only lane is busy. Two jobs of client 1 wait, then one of client 2.
struct Waiting {
    Stand stand;
    JobId running;
    JobId flood;
    JobId again;
    JobId honest;

    Waiting() {
        stand.open();
        running = stand.queue_job(arrival_of(stand, 1));
        flood = stand.queue_job(arrival_of(stand, 1));
        again = stand.queue_job(arrival_of(stand, 1));
        honest = stand.queue_job(arrival_of(stand, 2));
    }
};

TEST(InvariantsOfClients, AcceptTurns) {
    Waiting waiting;
    waiting.stand.tell(waiting.stand.end_of(waiting.running));
    waiting.stand.tell(waiting.stand.end_of(waiting.flood));
    waiting.stand.tell(waiting.stand.end_of(waiting.honest));
    waiting.stand.tell(waiting.stand.end_of(waiting.again));
    EXPECT_EQ(waiting.stand.broken(), "");
}

TEST(InvariantsOfClients, NoticeATurnTooEarly) {
    Waiting waiting;
    waiting.stand.tamper(waiting.stand.end_of(waiting.running),
                         [&](Turn& turn) { turn.the<SendJob>().job = waiting.honest; });
    EXPECT_EQ(waiting.stand.broken(), invariant::turns);
}

TEST(InvariantsOfClients, NoticeASecondTurnInARound) {
    Waiting waiting;
    waiting.stand.tell(waiting.stand.end_of(waiting.running));
    ASSERT_EQ(waiting.stand.broken(), "");
    waiting.stand.tamper(waiting.stand.end_of(waiting.flood),
                         [&](Turn& turn) { turn.the<SendJob>().job = waiting.again; });
    EXPECT_EQ(waiting.stand.broken(), invariant::turns);
}

TEST(InvariantsOfClients, NoticeAClientWhoseJobsAreInDisorder) {
    Waiting waiting;
    waiting.stand.tamper(waiting.stand.end_of(waiting.running),
                         [&](Turn& turn) { turn.the<SendJob>().job = waiting.again; });
    EXPECT_EQ(waiting.stand.broken(), invariant::order);
}

/// One lane, busy. A job of client 2 that wants the lane waits, then one of client 1 and another of
/// client 2.
struct WaitingAtLane {
    WaitingAtLane() {
        stand.open();
        running = stand.queue_job(arrival_of(stand, 1));
        stand.later(1ms);
        pinned = stand.queue_job(pinned_arrival());
        stand.later(1ms);
        shared = stand.queue_job(arrival_of(stand, 1));
        pinned_later = stand.queue_job(pinned_arrival());
        stand.later(1ms);
    }

    JobArrived pinned_arrival() {
        JobArrived arrived = arrival_of(stand, 2);
        arrived.lane_wanted = LaneId{0};
        return arrived;
    }

    /// Lets the end of the first job send this one, and returns which invariant was broken.
    std::string broken_by(JobId sent) {
        stand.tamper(stand.end_of(running), [&](Turn& turn) { turn.the<SendJob>().job = sent; });
        return std::string(stand.broken());
    }

    Stand stand;
    JobId running, pinned, shared, pinned_later;
};

TEST(InvariantsOfClients, NoticeAJobThatGoesBeforeAPinnedOneWhoseTurnItIs) {
    EXPECT_EQ(WaitingAtLane().broken_by(WaitingAtLane().shared), invariant::turns);
}

TEST(InvariantsOfClients, NoticeAPinnedJobThatGoesBeforeAnotherOfItsClient) {
    EXPECT_EQ(WaitingAtLane().broken_by(WaitingAtLane().pinned_later), invariant::order);
}

TEST(InvariantsOfClients, NoticeAPinnedJobThatGoesOutOfTurn) {
    WaitingAtLane waiting;
    waiting.stand.tell(waiting.stand.end_of(waiting.running));
    ASSERT_EQ(waiting.stand.broken(), "");
    waiting.stand.tamper(waiting.stand.end_of(waiting.pinned),
                         [&](Turn& turn) { turn.the<SendJob>().job = waiting.pinned_later; });
    EXPECT_EQ(waiting.stand.broken(), invariant::turns);
}

TEST(InvariantsOfClients, NoticeARefusalForWhatOthersHave) {
    Stand stand(PoolSettings{.queue_jobs_max = 10});
    stand.open();
    for (int i = 0; i < 4; ++i) stand.queue_job(arrival_of(stand, 1));
    const JobArrived arrived = arrival_of(stand, 2);
    stand.tamper(arrived, [&](Turn& turn) {
        turn.drop<AdmitJob>();
        turn.add(RefuseJob{arrived.ticket, arrived.pool, EndReason::queue_full, 1s});
    });
    EXPECT_EQ(stand.broken(), invariant::shares);
}

TEST(InvariantsOfClients, NoticeMoreThanAShare) {
    Stand stand(PoolSettings{.queue_jobs_max = 10});
    stand.open();
    stand.queue_job(arrival_of(stand, 2));
    for (int i = 0; i < 9; ++i) stand.queue_job(arrival_of(stand, 1));
    const JobArrived arrived = arrival_of(stand, 1);
    stand.tamper(arrived, [&](Turn& turn) {
        turn.drop<RefuseJob>();
        turn.add(AdmitJob{arrived.ticket, JobId{5000}});
    });
    EXPECT_EQ(stand.broken(), invariant::bounds);
}

TEST(InvariantsOfClients, NoticeAWrongAdvice) {
    Stand stand(PoolSettings{.queue_jobs_max = 10});
    stand.open();
    const JobId first = stand.queue_job(arrival_of(stand, 1));
    stand.later(1s);
    stand.tell(stand.end_of(first));
    stand.queue_job(arrival_of(stand, 2));
    for (int i = 0; i < 9; ++i) stand.queue_job(arrival_of(stand, 1));
    stand.tamper(arrival_of(stand, 1), [](Turn& turn) { turn.the<RefuseJob>().retry_after = 3s; });
    EXPECT_EQ(stand.broken(), invariant::refusal);
}

/// Client 1 uploads three MiB slowly and three fast, client 2 one. Ten MiB fit.
struct Full {
    Stand stand{[] {
        Settings settings{.pools = {PoolSettings{}}};
        settings.bytes_max = Bytes{7 * mebibyte.count};
        return settings;
    }()};
    JobId slow;
    JobId fast;
    JobId honest;

    JobId upload(std::uint64_t client) {
        JobArrived arrived = arrival_of(stand, client);
        arrived.declared = Bytes{3 * mebibyte.count};
        return stand.arrive(arrived);
    }
    void grow(JobId job, std::uint64_t mebibytes) {
        stand.tell(BodyGrew{job, Bytes{mebibytes * mebibyte.count}});
    }
    Full() {
        stand.open();
        slow = upload(1);
        stand.later(1s);
        fast = upload(1);
        honest = upload(2);
        stand.later(1s);
        grow(slow, 3);
        grow(fast, 3);
    }
    [[nodiscard]] BodyGrew growth() const { return {honest, Bytes{2 * mebibyte.count}}; }
};

TEST(InvariantsOfClients, AcceptThatTheSlowestUploadEnds) {
    Full full;
    full.stand.tell(full.growth());
    EXPECT_EQ(full.stand.broken(), "");
    full.stand.tamper(BodyFailed{full.slow}, [](Turn&) {});
    EXPECT_EQ(full.stand.broken(), "") << "it has ended";
}

TEST(InvariantsOfClients, NoticeThatAFasterUploadEnds) {
    Full full;
    full.stand.tamper(full.growth(), [&](Turn& turn) { turn.the<EndJob>().job = full.fast; });
    EXPECT_EQ(full.stand.broken(), invariant::room);
}

TEST(InvariantsOfClients, NoticeThatTheUploadOfAnHonestClientEnds) {
    Full full;
    full.stand.tamper(full.growth(), [&](Turn& turn) {
        turn.the<EndJob>().job = full.honest;
        turn.the<EndJob>().reason = EndReason::bytes_full;
    });
    EXPECT_EQ(full.stand.broken(), invariant::room);
}

TEST(InvariantsOfClients, NoticeABodyForWhichThereIsNoRoom) {
    Full full;
    full.stand.tamper(full.growth(), [](Turn& turn) { turn.drop<EndJob>(); });
    EXPECT_EQ(full.stand.broken(), invariant::bounds);
}

TEST(InvariantsOfClients, NoticeAnUploadThatEndsAlthoughThereIsRoom) {
    Full full;
    full.stand.tamper(BodyGrew{full.honest, mebibyte}, [&](Turn& turn) {
        turn.add(EndJob{.job = full.slow, .reason = EndReason::crowded_out, .retry_after = 1s});
    });
    EXPECT_EQ(full.stand.broken(), invariant::room);
}

// ── clients whose jobs kill workers ──────────────────────────────────────────────────────────────

/// Two lanes. Three jobs of client 1 were poison; client 2 is honest.
struct Suspected {
    Stand stand{PoolSettings{.lanes = 2, .crash_limit = 16}};

    void mend() {
        stand.pass(40s);
        for (const std::size_t lane : {0U, 1U})
            if (stand.engine().view(stand.now()).lanes[lane].state == LaneState::starting)
                stand.comes_up(stand.worker(lane));
    }
    Suspected() {
        stand.open();
        stand.tell(stand.end_of(stand.queue_job(arrival_of(stand, 2))));
        for (std::uint64_t i = 0; i < 3; ++i) {
            JobArrived arrived = arrival_of(stand, 1);
            arrived.declared = Bytes{100 + i};  // so that it is not taken for a known poison
            const JobId job = stand.queue_job(arrived);
            while (stand.engine().find(job, stand.now())) {
                stand.dies(stand.sent(job).worker);
                mend();
            }
        }
        stand.tell(stand.end_of(stand.queue_job(arrival_of(stand, 2))));
    }
};

TEST(InvariantsOfClients, AcceptALoneRideOfASuspectedClient) {
    Suspected suspected;
    suspected.stand.queue_job(arrival_of(suspected.stand, 1));
    suspected.stand.queue_job(arrival_of(suspected.stand, 1));
    EXPECT_EQ(suspected.stand.broken(), "");
}

TEST(InvariantsOfClients, NoticeASuspectThatIsNotSetApart) {
    Suspected suspected;
    const JobId job = suspected.stand.arrive(arrival_of(suspected.stand, 1));
    suspected.stand.tamper(BodyCompleted{job, Bytes{10}},
                           [](Turn& turn) { turn.drop<ReportSuspect>(); });
    EXPECT_EQ(suspected.stand.broken(), invariant::suspicion);
}

TEST(InvariantsOfClients, NoticeAnHonestJobThatIsSetApart) {
    Suspected suspected;
    const JobId job = suspected.stand.arrive(arrival_of(suspected.stand, 2));
    suspected.stand.tamper(BodyCompleted{job, Bytes{10}}, [&](Turn& turn) {
        turn.actions.insert(turn.actions.begin(), ReportSuspect{job, LaneId{0}});
    });
    EXPECT_EQ(suspected.stand.broken(), invariant::suspicion);
}

TEST(InvariantsOfClients, NoticeASuspectThatIsSetApartOutOfTurn) {
    Suspected suspected;
    Stand& stand = suspected.stand;
    stand.queue_job(arrival_of(stand, 1));  // rides alone
    const JobId waiting = stand.queue_job(arrival_of(stand, 1));
    stand.tamper(TimePassed{}, [&](Turn& turn) { turn.add(ReportSuspect{waiting, LaneId{0}}); });
    EXPECT_EQ(stand.broken(), invariant::suspicion);
}

TEST(InvariantsOfClients, NoticeAViewThatMiscounts) {
    const auto broken_by = [](const std::function<void(ClientView&)>& change) {
        Waiting waiting;
        waiting.stand.tamper(TimePassed{}, [&](Turn& turn) { change(turn.view.clients.front()); });
        return waiting.stand.broken();
    };
    EXPECT_EQ(broken_by([](ClientView&) {}), "");
    EXPECT_EQ(broken_by([](ClientView& it) { ++it.queued; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { ++it.running; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { ++it.uploads; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { ++it.refused; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { it.bytes = Bytes{1}; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { it.oldest_wait += 1s; }), invariant::counts);
    EXPECT_EQ(broken_by([](ClientView& it) { it.is_suspected = true; }), invariant::counts);
}

}  // namespace
}  // namespace turnpike::sim
