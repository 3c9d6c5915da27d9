#include "serve/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/loop.h"

namespace turnpike {
namespace {

std::string name_of(const Action& action) {
    return std::visit([](const auto& one) { return std::string(one.name); }, action);
}

/// A driver whose actions are only recorded. A test may set `act` to do more.
struct RecordedDriver {
    explicit RecordedDriver(PoolSettings pool = {})
        : engine(Settings{.pools = {pool}, .seed = 1}),
          driver(loop.context(), engine, clock, loop.wakeups()) {
        loop.handle_events = [this] { driver.turn(); };
        driver.set_carry_out([this](const Action& action) {
            done.push_back(name_of(action));
            carried_out.push_back(action);
            act(action);
        });
    }

    TestLoop loop;
    Clock clock;
    Engine engine;
    Driver driver;
    std::vector<std::string> done;
    std::vector<Action> carried_out;
    std::function<void(const Action&)> act = [](const Action&) {};

    [[nodiscard]] long count(const std::string& name) const {
        return std::ranges::count(done, name);
    }
    /// Lets something happen, and gives the driver its turn.
    void happen(const Event& event) {
        driver.deliver(event);
        driver.turn();
    }
    /// Starts the only worker and makes it ready.
    void open() {
        act = [this](const Action& action) {
            if (const auto* start = std::get_if<StartWorker>(&action)) worker = start->worker;
        };
        happen(GateOpened{});
        happen(WorkerStarted{worker});
        happen(WorkerReady{worker});
        act = [](const Action&) {};
    }

    WorkerId worker;
};

TEST(Driver, CarriesOutWhatTheEngineWants) {
    RecordedDriver recorded({.lanes = 3});
    recorded.happen(GateOpened{});
    EXPECT_EQ(recorded.count("StartWorker"), 3);
}

TEST(Driver, LetsEventsWaitUntilTheActionsBeforeThemAreDone) {
    RecordedDriver recorded({.lanes = 3});
    bool is_first = true;
    recorded.act = [&](const Action& action) {
        if (!std::holds_alternative<StartWorker>(action) || !std::exchange(is_first, false)) return;
        recorded.done.emplace_back("(told)");
        recorded.driver.deliver(
            JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}});
        recorded.done.emplace_back("(told already)");
    };
    recorded.happen(GateOpened{});
    const auto at = [&](const std::string& name) {
        return std::ranges::find(recorded.done, name) - recorded.done.begin();
    };
    EXPECT_EQ(at("(told already)"), at("(told)") + 1) << "nothing happened in between";
    EXPECT_EQ(recorded.count("StartWorker"), 3);
    EXPECT_EQ(recorded.done.back(), "AdmitJob") << "after all that was wanted before";
}

TEST(Driver, HandlesEventsThatCauseEventsInOrder) {
    RecordedDriver recorded;
    recorded.open();
    recorded.done.clear();
    std::uint64_t ticket = 1;
    std::vector<std::uint64_t> admitted;
    recorded.act = [&](const Action& action) {
        const auto* admit = std::get_if<AdmitJob>(&action);
        if (admit == nullptr) return;
        admitted.push_back(admit->ticket.value);
        for (int i = 0; i < 2 && ticket < 50; ++i)
            recorded.driver.deliver(
                JobArrived{.ticket = Ticket{++ticket}, .pool = PoolId{0}, .declared = Bytes{0}});
    };
    recorded.happen(JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}});
    ASSERT_EQ(admitted.size(), 50U);
    EXPECT_TRUE(std::ranges::is_sorted(admitted));
}

TEST(Driver, WakesWhenTheEngineNeedsTime) {
    RecordedDriver recorded({.ownership = Ownership::attached, .probe_every = 1ms});
    recorded.open();
    EXPECT_TRUE(recorded.loop.run_until([&] {
        recorded.clock.forget();
        return recorded.count("ProbeWorker") > 0;
    }));
}

TEST(Driver, WakesAgainAndAgain) {
    RecordedDriver recorded(
        {.ownership = Ownership::attached, .probe_every = 1ms, .probe_failures_max = 1000});
    recorded.open();
    recorded.act = [&](const Action& action) {
        if (const auto* probe = std::get_if<ProbeWorker>(&action))
            recorded.driver.deliver(
                ProbeEnded{probe->worker, probe->probe, ProbeVerdict::answered});
    };
    EXPECT_TRUE(recorded.loop.run_until([&] {
        recorded.clock.forget();
        return recorded.count("ProbeWorker") > 5;
    }));
}

TEST(Driver, SetsItsAlarmEarlierForAnEarlierDeadline) {
    RecordedDriver recorded({.queue_wait_max = 1h, .load_timeout = 1h});
    std::optional<EndReason> reason;
    recorded.act = [&](const Action& action) {
        if (const auto* end = std::get_if<EndJob>(&action)) reason = end->reason;
        if (const auto* admit = std::get_if<AdmitJob>(&action))
            recorded.driver.deliver(BodyCompleted{admit->job, Bytes{0}});
    };
    recorded.happen(GateOpened{});  // an alarm in an hour
    recorded.happen(
        JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}, .timeout = 1ms});
    EXPECT_TRUE(recorded.loop.run_until([&] {
        recorded.clock.forget();
        return reason.has_value();
    }));
    EXPECT_EQ(reason, EndReason::deadline_passed);
}

// ── the order of actions ─────────────────────────────────────────────────────────────────────────

/// Returns the actions' names and jobs, without the actions of one name.
std::vector<std::string> named(const std::vector<Action>& actions, std::string_view left_out = "") {
    std::vector<std::string> names;
    for (const Action& action : actions) {
        std::string name = name_of(action);
        if (name == left_out) continue;
        if (const auto* send = std::get_if<SendJob>(&action))
            name += " " + std::to_string(send->job.value);
        if (const auto* end = std::get_if<EndJob>(&action))
            name += " " + std::to_string(end->job.value);
        names.push_back(std::move(name));
    }
    return names;
}

/// A driver, and beside it a bare engine that shows the order in which the actions were wanted.
struct Mirrored : RecordedDriver {
    explicit Mirrored(const PoolSettings& pool)
        : RecordedDriver(pool), mirror(Settings{.pools = {pool}, .seed = 1}) {
        act = [this](const Action& action) {
            if (const auto* start = std::get_if<StartWorker>(&action))
                workers.push_back(start->worker);
            if (const auto* admit = std::get_if<AdmitJob>(&action)) jobs.push_back(admit->job);
            if (const auto* send = std::get_if<SendJob>(&action)) sent.push_back(*send);
        };
    }
    void deliver(const Event& event) {
        wanted.clear();
        carried_out.clear();
        mirror.handle(event, clock.now(), wanted);
        happen(event);
        EXPECT_EQ(named(carried_out, "SendJob"), named(wanted, "SendJob"));
        EXPECT_EQ(named(carried_out, "EndJob"), named(wanted, "EndJob"));
    }
    void come_up() {
        deliver(GateOpened{});
        for (const WorkerId one : workers) deliver(WorkerStarted{one});
        for (const WorkerId one : workers) deliver(WorkerReady{one});
    }
    void add_jobs(int count) {
        for (int i = 0; i < count; ++i) {
            deliver(JobArrived{.ticket = Ticket{++tickets}, .pool = PoolId{0}});
            deliver(BodyCompleted{jobs.back(), Bytes{0}});
        }
    }
    [[nodiscard]] AttemptEnded end_of(std::size_t attempt) const {
        return {sent[attempt].worker, sent[attempt].attempt, Verdict::answered};
    }

    Engine mirror;
    Actions wanted;
    std::vector<WorkerId> workers;
    std::vector<JobId> jobs;
    std::vector<SendJob> sent;
    std::uint64_t tickets = 0;
};

TEST(Driver, SendsTheNextJobBeforeTheLastClientIsAnswered) {
    Mirrored recorded({.lanes = 1});
    recorded.come_up();
    recorded.add_jobs(2);
    ASSERT_EQ(recorded.sent.size(), 1U);
    recorded.deliver(recorded.end_of(0));
    const std::string send = "SendJob " + std::to_string(recorded.jobs[1].value);
    const std::string end = "EndJob " + std::to_string(recorded.jobs[0].value);
    EXPECT_THAT(named(recorded.wanted), testing::ElementsAre(end, send));
    EXPECT_THAT(named(recorded.carried_out), testing::ElementsAre(send, end));
}

TEST(Driver, ReordersNothingElse) {
    Mirrored recorded({.lanes = 2, .batch = 2});
    recorded.come_up();
    recorded.add_jobs(12);
    recorded.deliver(recorded.end_of(0));
    recorded.deliver(ClientLeft{recorded.sent[1].job});
    recorded.deliver(CancelAsked{recorded.jobs.back()});
    recorded.deliver(WorkerMisbehaved{recorded.workers[1]});
    for (const WorkerId worker : {recorded.workers[0], recorded.workers[1]}) {
        recorded.deliver(WorkerExited{worker});
        recorded.deliver(WorkerGone{worker});
    }
    for (std::size_t i = 0; i < recorded.sent.size(); ++i) recorded.deliver(recorded.end_of(i));
    recorded.deliver(ShutdownAsked{.patience = Duration::zero()});
    EXPECT_GT(recorded.count("EndJob"), 6) << "deliver() has compared them all";
    EXPECT_GT(recorded.count("KillWorker"), 0);
}

TEST(Driver, AnswersClientsOnceAllJobsOfTheTurnAreSent) {
    Mirrored recorded({.lanes = 1});
    recorded.come_up();
    recorded.add_jobs(3);
    recorded.act = [&](const Action& action) {  // each job is answered as soon as it is sent
        if (const auto* send = std::get_if<SendJob>(&action))
            recorded.driver.deliver(AttemptEnded{send->worker, send->attempt, Verdict::answered});
    };
    recorded.carried_out.clear();
    recorded.happen(recorded.end_of(0));
    const auto of = [&](std::string_view what, std::size_t job) {
        return std::string(what) + " " + std::to_string(recorded.jobs[job].value);
    };
    EXPECT_THAT(named(recorded.carried_out),
                testing::ElementsAre(of("SendJob", 1), of("SendJob", 2), of("EndJob", 0),
                                     of("EndJob", 1), of("EndJob", 2)));
}

TEST(Driver, SendsTheJobsOfAWholeBatchBeforeItAnswersAnyClient) {
    Mirrored recorded({.lanes = 4});
    recorded.come_up();
    recorded.add_jobs(8);
    ASSERT_EQ(recorded.sent.size(), 4U);
    recorded.carried_out.clear();
    for (std::size_t i = 0; i < 4; ++i) recorded.driver.deliver(recorded.end_of(i));
    EXPECT_TRUE(recorded.carried_out.empty()) << "deliver() only queues";
    recorded.driver.turn();
    ASSERT_EQ(recorded.carried_out.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_EQ(std::holds_alternative<SendJob>(recorded.carried_out[i]), i < 4) << i;
}

TEST(Driver, AnswersAClientBeforeTheIdOfItsJobIsUsedAgain) {
    Mirrored recorded({.lanes = 1});
    recorded.come_up();
    recorded.add_jobs(1);
    recorded.carried_out.clear();
    recorded.driver.deliver(recorded.end_of(0));
    recorded.driver.deliver(JobArrived{.ticket = Ticket{99}, .pool = PoolId{0}});
    recorded.driver.turn();
    ASSERT_EQ(recorded.carried_out.size(), 2U);
    EXPECT_TRUE(std::holds_alternative<EndJob>(recorded.carried_out[0]));
    EXPECT_TRUE(std::holds_alternative<AdmitJob>(recorded.carried_out[1]));
}

// ── wake-ups ─────────────────────────────────────────────────────────────────────────────────────

struct Sleepy final : Sleeper {
    explicit Sleepy(Wakeups& by) : wakeups(by) {}
    void wake() override {
        ++woken;
        act();
    }
    Wakeups& wakeups;
    std::function<void()> act = [] {};
    int woken = 0;
};

TEST(Driver, WakesEachSleeperOnceWhenNoEventIsLeft) {
    Mirrored recorded({.lanes = 1});
    recorded.come_up();
    recorded.add_jobs(1);
    recorded.carried_out.clear();
    Sleepy sleepy(recorded.loop.wakeups());
    sleepy.act = [&] { EXPECT_EQ(recorded.carried_out.size(), 1U) << "the client is answered"; };
    sleepy.wakeups.add(sleepy);
    recorded.driver.deliver(recorded.end_of(0));
    sleepy.wakeups.add(sleepy);
    recorded.driver.turn();
    EXPECT_EQ(sleepy.woken, 1);
}

TEST(Driver, HandlesTheEventsOfAWakeUpBeforeTheNextOne) {
    Mirrored recorded({.lanes = 1});
    recorded.come_up();
    Sleepy first(recorded.loop.wakeups());
    Sleepy second(recorded.loop.wakeups());
    first.act = [&] {
        recorded.driver.deliver(JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}});
        if (first.woken < 3) first.wakeups.add(first);
    };
    std::vector<long> admitted;
    second.act = [&] { admitted.push_back(recorded.count("AdmitJob")); };
    first.wakeups.add(first);
    second.wakeups.add(second);
    recorded.driver.turn();
    EXPECT_EQ(first.woken, 3) << "who adds himself again comes again, behind the others";
    EXPECT_THAT(admitted, testing::ElementsAre(1));
}

TEST(Driver, DoesNotWakeWhoIsRemoved) {
    RecordedDriver recorded;
    Sleepy sleepy(recorded.loop.wakeups());
    sleepy.wakeups.add(sleepy);
    sleepy.wakeups.remove(sleepy);
    recorded.driver.turn();
    EXPECT_EQ(sleepy.woken, 0);
}

}  // namespace
}  // namespace turnpike
